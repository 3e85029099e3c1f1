// A value as it was written, with its place: what the rest of config/ sees of the TOML parser's
// output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "config/problems.hpp"

namespace pipetrain::config {

struct Value {
  struct Other {  // a table, a date, a time: no key takes one
    std::string type;
  };
  std::variant<bool, std::int64_t, double, std::string, std::vector<Value>, Other> data;
  Place place;
  std::filesystem::path folder;  // which relative paths start from
};

std::string type_of(const Value& value);  // "a string", "an array"
std::string show(const Value& value);     // as TOML on one line, shortened if long

std::string quote(const std::string& text);  // a TOML basic string
std::string number(double value);            // a TOML float that reads back to the same bits

// By dotted key ("pipeline.stages"): the value of the last source that gives it.
using Settings = std::map<std::string, Value, std::less<>>;

}  // namespace pipetrain::config
