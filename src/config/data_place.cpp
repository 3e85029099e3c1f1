#include "config/data_place.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"

namespace pipetrain {

namespace {

namespace fs = std::filesystem;

constexpr const char* datasets_variable = "PIPETRAIN_DATASETS";

// The folder datasets/NAME that a path is in; empty if it is in none that a NAME.toml describes.
fs::path dataset_folder(const fs::path& path) {
  for (fs::path folder = path; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.parent_path().filename() != "datasets") continue;
    fs::path described = folder;
    described += ".toml";
    return is_file(described) ? folder : fs::path();
  }
  return {};
}

const char* other_datasets() {
  const char* const value = std::getenv(datasets_variable);
  return value && *value ? value : nullptr;
}

}  // namespace

std::string known_dataset(const fs::path& path) { return dataset_folder(path).filename().string(); }

fs::path data_place(const fs::path& path) {
  const char* const others = other_datasets();
  if (!others || is_there(path)) return path;
  const fs::path folder = dataset_folder(path);
  if (folder.empty()) return path;
  const fs::path there =
      fs::absolute(others / path.lexically_relative(folder.parent_path())).lexically_normal();
  return is_there(there) ? there : path;
}

void check_fetched(const std::string& key, const fs::path& path) {
  if (is_there(path)) return;
  const std::string name = known_dataset(path);
  if (name.empty()) return;
  const char* const others = other_datasets();
  throw UsageError(fmt::format(
      "{}: {} is missing{}; run scripts/fetch-dataset {}, or set {} to a folder that has the "
      "files of the data set in {}/",
      key, printable(path.string()),
      others ? fmt::format(", and {} ({}) has no such file either", datasets_variable,
                           printable(others))
             : "",
      name, datasets_variable, name));
}

}  // namespace pipetrain
