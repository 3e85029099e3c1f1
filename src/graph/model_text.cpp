#include "graph/model_text.hpp"

#include <spdlog/fmt/fmt.h>
#include <toml++/toml.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/toml_text.hpp"

namespace pipetrain::model_file {

const Table kNoTable;

namespace {

Position position(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

Value convert(const toml::node& node);

Table convert_table(const toml::table& table) {
  Table entries;
  for (const auto& [key, node] : table)
    entries.push_back({std::string(key.str()), position(key.source()), convert(node)});
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.at < b.at; });
  return entries;
}

Value convert(const toml::node& node) {
  Value value{position(node.source()), Other{}};
  if (const auto* flag = node.as_boolean()) value.data = flag->get();
  if (const auto* whole = node.as_integer()) value.data = whole->get();
  if (const auto* real = node.as_floating_point()) value.data = real->get();
  if (const auto* text = node.as_string()) value.data = text->get();
  if (const auto* table = node.as_table()) value.data = convert_table(*table);
  if (const auto* array = node.as_array()) {
    List list;
    for (const toml::node& element : *array) list.push_back(convert(element));
    value.data = std::move(list);
  }
  return value;
}

}  // namespace

Table parse_model_text(const std::string& toml, const std::string& origin) {
  if (const auto stray = stray_character(toml))
    throw UsageError(fmt::format("{}:{}:{}: this is not valid TOML: {}", origin, stray->line,
                                 stray->column, stray->message()));
  try {
    return convert_table(toml::parse(toml, origin));
  } catch (const toml::parse_error& error) {
    const Position at = position(error.source());
    throw UsageError(fmt::format("{}:{}:{}: this is not valid TOML: {}", origin, at.line, at.column,
                                 error.description()));
  }
}

const Entry* find(const Table& table, std::string_view key) {
  for (const Entry& entry : table)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string describe(const Value& value) {
  struct Words {
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(std::int64_t x) const { return fmt::format("{}", x); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& x) const { return fmt::format("\"{}\"", x); }
    std::string operator()(const List& x) const { return fmt::format("a list of {}", x.size()); }
    std::string operator()(const Table&) const { return "a table"; }
    std::string operator()(const Other&) const { return "a date or time"; }
  };
  return std::visit(Words{}, value.data);
}

}  // namespace pipetrain::model_file
