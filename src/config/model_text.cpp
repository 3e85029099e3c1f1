#include "config/model_text.hpp"

#include <toml++/toml.h>

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

std::string model_table(const std::string& inline_model, const std::string& others) {
  toml::table model = toml::parse(std::string_view(inline_model));
  for (auto&& [key, value] : toml::parse(std::string_view(others))) model.insert(key, value);
  std::ostringstream text;
  text << toml::toml_formatter{toml::table{{"model", std::move(model)}}};
  return text.str() + "\n";
}

}  // namespace pipetrain::config
