// Where the files of known data sets are. A source tree describes a set in datasets/NAME.toml, and
// scripts/fetch-dataset puts its files into datasets/NAME. PIPETRAIN_DATASETS names another folder
// that may have them, as NAME/FILE.
#pragma once

#include <filesystem>
#include <string>

namespace pipetrain {

// The set that the file `path` belongs to: "mnist" for datasets/mnist/FILE next to
// datasets/mnist.toml. Empty for any other path.
std::string known_dataset(const std::filesystem::path& path);

// `path` itself; if it does not exist, the same file of its known set below PIPETRAIN_DATASETS, if
// that exists.
std::filesystem::path data_place(const std::filesystem::path& path);

// Throws a UsageError if `path`, which `key` names, belongs to a known set and does not exist. The
// message names the command that gets the set.
void check_fetched(const std::string& key, const std::filesystem::path& path);

}  // namespace pipetrain
