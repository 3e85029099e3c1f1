#include "data/data_files.hpp"

#include <utility>
#include <variant>

#include "config/fields.hpp"
#include "data/image/image_list.hpp"

namespace pipetrain {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> paths_of(const config::Key& key, Config& config) {
  if (const auto* one = std::get_if<config::FieldOf<fs::path>>(&key.field)) {
    const fs::path& path = (*one)(config);
    return path.empty() ? std::vector<fs::path>{} : std::vector{path};
  }
  if (const auto* list = std::get_if<config::FieldOf<std::vector<fs::path>>>(&key.field))
    return (*list)(config);
  return {};
}

NamedData images_in(std::string key, const fs::path& folder) {
  NamedData named{std::move(key), folder, {}};
  for (ImageEntry& image : list_images(folder).images)
    named.files.emplace_back(std::move(image.file));
  return named;
}

}  // namespace

std::vector<NamedData> data_files(const DataConfig& data) {
  Config config;
  config.data = data;
  std::vector<NamedData> all;
  for (const config::Key& key : config::keys()) {
    if (key.table() != "data" || !config::applies(key, config)) continue;
    std::vector<fs::path> paths = paths_of(key, config);
    if (paths.empty()) continue;
    if (data.kind == DataKind::ImageFolder)
      all.push_back(images_in(std::string(key.path), paths.front()));
    else
      all.push_back({std::string(key.path), {}, std::move(paths)});
  }
  return all;
}

}  // namespace pipetrain
