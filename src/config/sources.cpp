#include "config/sources.hpp"

#include <spdlog/fmt/fmt.h>
#include <toml++/toml.h>

#include <sstream>

#include "base/input_file.hpp"
#include "base/toml_text.hpp"
#include "config/keys.hpp"
#include "config/read.hpp"

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
        model_part(std::string(key.str()), source.place(key.source()), node);
      } else if (find_key(path)) {
        sources.settings[path] = to_value(node, source);
      } else if (is_table(path)) {
        subtable(path, node);
      } else {
        unknown(path, key, node);
      }
    }
  }

  // A part replaces that of an earlier source; but --set model.input.tokens=8 is for one key of it.
  void model_part(const std::string& key, Place place, const toml::node& node) const {
    const auto earlier = sources.model.find(key);
    const auto* const keys = node.as_table();
    if (source.is_file || !keys || earlier == sources.model.end()) {
      sources.model[key] = {std::move(place), one_key_as_toml(key, node)};
      return;
    }
    toml::table merged = toml::parse(earlier->second.toml);
    if (auto* const table = merged[key].as_table())
      for (auto&& [name, value] : *keys) table->insert_or_assign(name, value);
    else
      merged.insert_or_assign(key, node);
    earlier->second = {std::move(place), one_key_as_toml(key, *merged.get(key))};
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

// An array with its words in quotes: ["pool1", "conv2"] for [pool1, conv2]. Empty if quotes are not
// all that it needs.
std::string with_quotes(const std::string& array) {
  if (!array.starts_with('[') || !array.ends_with(']') || array.find('\'') != array.npos) return "";
  std::istringstream elements(array.substr(1, array.size() - 2));
  std::string quoted;
  for (std::string element; std::getline(elements, element, ',');) {
    constexpr const char* blanks = " \t\r\n";
    element.erase(0, element.find_first_not_of(blanks));
    element.erase(element.find_last_not_of(blanks) + 1);
    if (element.empty()) return "";
    const bool is_toml = keys_set_by(element) == 1;
    if (!is_toml && element.find_first_of("\"[]{}") != element.npos) return "";
    quoted += (quoted.empty() ? "[" : ", ") + (is_toml ? element : quote(element));
  }
  quoted += ']';
  return keys_set_by(quoted) == 1 ? quoted : "";
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
  const auto refuse = [&](const std::string& what, const std::string& instead) {
    sources.whole = false;
    problems.push_back({{source.number, 0, 0, source.name}, what, instead});
  };
  if (keys > 1) return refuse("more than one key is set", "write --set for each of them");
  if (value.find_first_not_of(" \t") == value.npos)
    return refuse("there is no value after the =",
                  fmt::format("write one, or --set '{}=\"\"' for an empty text", key));
  if (const std::string quoted = keys == 0 ? with_quotes(value) : ""; !quoted.empty())
    return refuse("strings in an array need quotes",
                  fmt::format("write --set '{}={}'", key, quoted));
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
    if (file.filename() == kConfigFile) sources.resolved.insert(source.number);
    load_file(file, source, sources, problems);
  }
  for (const std::string& set : sets) {
    load_set(set, {number, "", {}, false}, sources, problems);
  }
  return sources;
}

}  // namespace pipetrain::config
