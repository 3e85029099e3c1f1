#include "data/data_files.hpp"

#include <utility>
#include <variant>

#include "config/data_place.hpp"
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

// What the keys name; folders are not listed.
std::vector<NamedData> named_paths(const DataConfig& data) {
  Config config;
  config.data = data;
  std::vector<NamedData> all;
  for (const config::Key& key : config::keys()) {
    if (key.table() != "data" || !config::applies(key, config)) continue;
    if (std::vector<fs::path> paths = paths_of(key, config); !paths.empty())
      all.push_back({std::string(key.path), {}, std::move(paths)});
  }
  return all;
}

NamedData images_in(std::string key, const fs::path& folder) {
  NamedData named{std::move(key), folder, {}};
  for (ImageEntry& image : list_images(folder).images)
    named.files.emplace_back(std::move(image.file));
  return named;
}

}  // namespace

std::vector<NamedData> data_files(const DataConfig& data) {
  std::vector<NamedData> all = named_paths(data);
  if (data.kind == DataKind::ImageFolder)
    for (NamedData& named : all) named = images_in(std::move(named.key), named.files.front());
  return all;
}

void check_fetched(const DataConfig& data) {
  for (const NamedData& named : named_paths(data)) {
    if (config::find_key(named.key)->samples == config::SampleFiles::None) continue;
    for (const fs::path& path : named.files) check_fetched(named.key, path);
  }
}

}  // namespace pipetrain
