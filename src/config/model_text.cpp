#include "config/model_text.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "config/keys.hpp"

namespace pipetrain::config {

std::string model_text(const std::map<std::string, ModelPart>& parts) {
  std::string text;  // plain keys come before tables: the order of model_file_keys()
  for (const std::string_view key : model_file_keys()) {
    const auto part = parts.find(std::string(key));
    if (part != parts.end()) text += part->second.toml;
  }
  return text;
}

std::map<std::int64_t, std::string> model_places(const std::map<std::string, ModelPart>& parts) {
  std::map<std::int64_t, std::string> places;
  std::int64_t line = 1;
  for (const std::string_view key : model_file_keys()) {
    const auto part = parts.find(std::string(key));
    if (part == parts.end()) continue;
    places[line] = part->second.place.text();
    line += std::ranges::count(part->second.toml, '\n');
  }
  return places;
}

std::string model_table(const std::string& inline_model, const std::string& others) {
  toml::table model = toml::parse(std::string_view(inline_model));
  for (auto&& [key, value] : toml::parse(std::string_view(others))) model.insert(key, value);
  std::ostringstream text;
  text << toml::toml_formatter{toml::table{{"model", std::move(model)}}};
  return text.str() + "\n";
}

}  // namespace pipetrain::config
