#include "config/model_text.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "config/keys.hpp"

namespace pipetrain::config {

namespace {

// Plain keys first: what follows the header of a table would belong to that table.
std::vector<const ModelPart*> in_order(const std::map<std::string, ModelPart>& parts) {
  std::vector<const ModelPart*> ordered;
  for (const std::string_view key : model_file_keys())
    if (const auto part = parts.find(std::string(key)); part != parts.end())
      ordered.push_back(&part->second);
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const ModelPart* part) { return !part->toml.starts_with('['); });
  return ordered;
}

}  // namespace

std::string model_text(const std::map<std::string, ModelPart>& parts) {
  std::string text;
  for (const ModelPart* part : in_order(parts)) text += part->toml;
  return text;
}

std::map<std::int64_t, std::string> model_places(const std::map<std::string, ModelPart>& parts) {
  std::map<std::int64_t, std::string> places;
  std::int64_t line = 1;
  for (const ModelPart* part : in_order(parts)) {
    places[line] = part->place.text();
    line += std::ranges::count(part->toml, '\n');
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
