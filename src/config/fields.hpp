// One key's value into and out of its field: the rules for each type of field, in one place.
#pragma once

#include <string>

#include "config/keys.hpp"
#include "config/value.hpp"

namespace pipetrain::config {

// Puts `value` into the key's field, or says what is wrong with it. False if it is wrong.
bool read_field(const Key& key, const Value& value, Config& config, Problems& problems);

// The field's value as TOML; empty if the value means "not given".
std::string write_field(const Key& key, Config& config);

// Whether the key has a meaning under the kind or schedule that `config` chooses.
bool applies(const Key& key, Config& config);

// What may be written: "a whole number from 1 to 1024", "one of: sgd, adam, adamw".
std::string expectation(const Key& key);

}  // namespace pipetrain::config
