// A model file's TOML as plain values with positions, so that only model_text.cpp needs the
// parser's headers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pipetrain::model_file {

struct Position {
  std::int64_t line = 1, column = 1;
  auto operator<=>(const Position&) const = default;
};

struct Value;
struct Entry;
using List = std::vector<Value>;
using Table = std::vector<Entry>;  // in the order of the file

struct Other {};  // dates and times, which no model uses

struct Value {
  Position at;
  std::variant<bool, std::int64_t, double, std::string, List, Table, Other> data;
};

struct Entry {
  std::string key;
  Position at;  // of the key
  Value value;
};

extern const Table kNoTable;  // an empty table

// Throws a UsageError with the position if the text is not TOML.
Table parse_model_text(const std::string& toml, const std::string& origin);

const Entry* find(const Table& table, std::string_view key);  // null: absent
std::string describe(const Value& value);                     // for messages: 2.5, "three", a table

}  // namespace pipetrain::model_file
