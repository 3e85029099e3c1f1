#include "config/sources.hpp"

#include <spdlog/fmt/fmt.h>
#include <toml++/toml.h>

#include <sstream>

#include "base/input_file.hpp"
#include "base/toml_text.hpp"
#include "config/keys.hpp"

namespace pipetrain::config {
namespace {

struct Source {
  int number = 0;
  std::string name;  // in messages
  std::filesystem::path folder;
  bool is_file = true;

  Place place(const toml::source_region& region) const {
    if (!is_file) return {number, 0, 0, name};
    return {number, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column),
            name};
  }
};

std::string type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    default:
      return "a date with a time";
  }
}

Value to_value(const toml::node& node, const Source& source) {
  Value value{Value::Other{type_name(node.type())}, source.place(node.source()), source.folder};
  if (const auto* flag = node.as_boolean()) value.data = flag->get();
  if (const auto* integer = node.as_integer()) value.data = integer->get();
  if (const auto* real = node.as_floating_point()) value.data = real->get();
  if (const auto* text = node.as_string()) value.data = text->get();
  if (const auto* array = node.as_array()) {
    std::vector<Value> values;
    for (const toml::node& element : *array) values.push_back(to_value(element, source));
    value.data = std::move(values);
  }
  return value;
}

std::string one_key_as_toml(std::string_view key, const toml::node& node) {
  toml::table table;
  table.insert(key, node);
  std::ostringstream text;
  text << toml::toml_formatter{table};
  return text.str() + "\n";
}

bool is_model_file_key(std::string_view key) {
  for (const std::string_view known : model_file_keys()) {
    if (key == known) return true;
  }
  return false;
}

// Walks a parsed source and files each value under its key.
struct Collect {
  const Source& source;
  Sources& sources;
  Problems& problems;

  void table(const toml::table& table, const std::string& prefix) const {
    for (auto&& [key, node] : table) {
      const std::string path =
          prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
      if (prefix == "model" && is_model_file_key(key.str())) {
        sources.model[std::string(key.str())] = {source.place(key.source()),
                                                 one_key_as_toml(key.str(), node)};
      } else if (find_key(path)) {
        sources.settings[path] = to_value(node, source);
      } else if (is_table(path)) {
        subtable(path, node);
      } else {
        unknown(path, key, node);
      }
    }
  }

  void subtable(const std::string& path, const toml::node& node) const {
    if (const auto* inner = node.as_table()) return table(*inner, path);
    const std::string what = node.is_array() ? "an array" : "a value";
    problems.push_back({source.place(node.source()), fmt::format("{} is {}", path, what),
                        fmt::format("write a table, [{}]", path)});
  }

  void unknown(const std::string& path, const toml::key& key, const toml::node& node) const {
    const std::string meant = nearest_key(path);
    if (!meant.empty()) sources.slips.push_back({meant, source.number});
    problems.push_back({source.place(key.source()),
                        fmt::format("unknown {} {}", node.is_table() ? "table" : "key", path),
                        meant.empty() ? "remove it (pipetrain train --help-keys lists the keys)"
                                      : fmt::format("did you mean {}?", meant)});
  }
};

void parse(const std::string& text, const Source& source, Sources& sources, Problems& problems) {
  const std::string instead =
      source.is_file ? "write valid TOML here" : "write --set key.path=value";
  if (const auto stray = stray_character(text)) {
    sources.whole = false;
    const int line = source.is_file ? stray->line : 0, column = source.is_file ? stray->column : 0;
    problems.push_back({{source.number, line, column, source.name}, stray->message(), instead});
    return;
  }
  try {
    Collect{source, sources, problems}.table(toml::parse(text, source.name), "");
  } catch (const toml::parse_error& error) {
    sources.whole = false;
    problems.push_back({source.place(error.source()), std::string(error.description()), instead});
  }
}

void load_file(const std::filesystem::path& file, const Source& source, Sources& sources,
               Problems& problems) {
  try {
    parse(read_whole_stream(file), source, sources, problems);
  } catch (const CannotRead& error) {
    sources.whole = false;
    const Place where{source.number, 0, 0, source.name};
    problems.push_back(
        {where, fmt::format("cannot be read: {}", error.why()), "name a config file (TOML)"});
  }
}

constexpr const char* kBareKey =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

// A word that TOML wants in quotes: gpipe, ../models/lenet5.toml.
bool is_bare_word(const std::string& text) {
  return !text.empty() && text.find_first_of(" \t\r\n\"'[]{},#=") == text.npos;
}

// How many keys `key = text` sets; more than one if a line break ends the value. 0: not TOML.
std::size_t keys_set_by(const std::string& text) {
  if (stray_character(text)) return 0;
  try {
    return toml::parse("value = " + text).size();
  } catch (const toml::parse_error&) {
    return 0;
  }
}

void load_set(const std::string& set, Source source, Sources& sources, Problems& problems) {
  const std::size_t equals = set.find('=');
  const std::string key = set.substr(0, equals);
  source.name = "--set " + key;
  if (equals == set.npos || key.empty() || key.find_first_not_of(kBareKey) != key.npos) {
    const Place where{source.number, 0, 0, "--set " + set};
    problems.push_back({where, "this is not a setting", "write --set key.path=value"});
    return;
  }
  const std::string value = set.substr(equals + 1);
  const std::size_t keys = keys_set_by(value);
  if (keys > 1) {
    const Place where{source.number, 0, 0, source.name};
    problems.push_back({where, "more than one key is set", "write --set for each of them"});
    return;
  }
  const bool word = is_bare_word(value) && keys == 0;
  parse(key + " = " + (word ? quote(value) : value), source, sources, problems);
}

}  // namespace

Sources load_sources(const std::vector<std::filesystem::path>& files,
                     const std::vector<std::string>& sets, Problems& problems) {
  Sources sources;
  sources.end.name = "config";
  int number = 0;
  for (const auto& file : files) {
    const Source source{number++, file.string(), file.parent_path()};
    sources.end = {source.number, 1, 1, source.name};
    load_file(file, source, sources, problems);
  }
  for (const std::string& set : sets) {
    load_set(set, {number, "", {}, false}, sources, problems);
  }
  return sources;
}

}  // namespace pipetrain::config
