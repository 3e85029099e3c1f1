// Config -> TOML, by the same table of keys that reading uses.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "config/fields.hpp"
#include "config/model_text.hpp"
#include "config/read.hpp"

namespace pipetrain {

namespace {

using config::Key;  // not all of config: see read.cpp

bool has_field(const Key& key) { return !std::holds_alternative<std::monostate>(key.field); }

// Lines under their table's header, a blank line between tables.
class Tables {
 public:
  void add(const Key& key, const std::string& line) {
    if (key.table() != table_)
      text_ += fmt::format("{}[{}]\n", text_.empty() ? "" : "\n", key.table());
    table_ = key.table();
    text_ += line + "\n";
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  std::string_view table_;
};

// Whether any kind or schedule that can be chosen gives the key a meaning.
bool can_apply(const Key& key) {
  if (!has_field(key) || !key.built) return false;
  if (key.of.empty()) return true;
  const auto& chosen = config::find_key(key.of)->values;
  return std::ranges::any_of(key.only, [&](std::string_view word) {
    return std::ranges::find(chosen, word) != chosen.end();
  });
}

}  // namespace

std::string dump_config(const Config& given, bool minimal) {
  Config config = given, defaults;
  if (config.pipeline.automatic) config.pipeline.schedule = automatic_schedule;
  const bool inline_model = !config.inline_model.empty();
  Tables tables;
  std::string of_model;
  for (const Key& key : config::keys()) {
    if (!has_field(key)) continue;
    const std::string value = write_field(key, config);
    const bool is_default = value == write_field(key, defaults);
    // The default of another kind's key says nothing, and reading it back would cause a note.
    if (value.empty() || (is_default && (minimal || !applies(key, config)))) continue;
    const std::string line = fmt::format("{} = {}", key.name(), value);
    if (inline_model && key.table() == "model")
      of_model += is_default ? "" : line + "\n";
    else
      tables.add(key, line);
  }
  std::string text = std::move(tables).text();
  if (!inline_model) return text;
  if (!text.empty()) text += '\n';
  text += config::model_table(config.inline_model, of_model);
  return text;
}

std::vector<std::string> differing_keys(const Config& a, const Config& b) {
  Config left = a, right = b;
  std::vector<std::string> differ;
  for (const Key& key : config::keys()) {
    if (write_field(key, left) != write_field(key, right)) differ.emplace_back(key.path);
    if (key.path == "model.init" && a.inline_model != b.inline_model)
      differ.emplace_back("model.layers");
  }
  return differ;
}

std::string describe_keys() {
  Config defaults;
  Tables tables;
  for (const Key& key : config::keys()) {
    if (!can_apply(key)) continue;
    const std::string value = write_field(key, defaults);
    const std::string line = value.empty() ? fmt::format("# {} =", key.name())
                                           : fmt::format("{} = {}", key.name(), value);
    std::string choices;
    for (const std::string_view word : key.values) {
      choices += fmt::format("{}{}", choices.empty() ? ": " : " | ", word);
    }
    tables.add(key, fmt::format("{:<28} # {}{}", line, key.help, choices));
  }
  return std::move(tables).text();
}

}  // namespace pipetrain
