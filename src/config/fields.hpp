// One key's value in and out of its field: the rules of each type of field, once.
#pragma once

#include <string>

#include "config/keys.hpp"
#include "config/value.hpp"

namespace pipetrain::config {

// Puts `value` into the key's field, or says what is wrong with it. False where it did.
bool read_field(const Key& key, const Value& value, Config& config, Problems& problems);

// The field's value as TOML; empty where the field stands for "not given".
std::string write_field(const Key& key, Config& config);

// Whether the key means something under the kind or schedule that `config` chooses.
bool applies(const Key& key, Config& config);

// What may be written: "a whole number from 1 to 1024", "one of: sgd, adam, adamw".
std::string expectation(const Key& key);

}  // namespace pipetrain::config
