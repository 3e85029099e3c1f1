// Where the files of known data sets are. A source tree describes a set in datasets/NAME.toml, and
// scripts/fetch-dataset puts its files into datasets/NAME; PIPETRAIN_DATASETS names a folder that
// may have them instead, as NAME/FILE.
#pragma once

#include <filesystem>
#include <string>

namespace pipetrain {

// The set whose files `path` is one of: "mnist" for datasets/mnist/FILE beside datasets/mnist.toml.
// Empty for every other path.
std::string known_dataset(const std::filesystem::path& path);

// `path` itself; where nothing is there, the same file of its known set below PIPETRAIN_DATASETS,
// if that is there.
std::filesystem::path data_place(const std::filesystem::path& path);

// UsageError where `path`, which `key` names, is of a known set and not there: it says the command
// that gets the set.
void check_fetched(const std::string& key, const std::filesystem::path& path);

}  // namespace pipetrain
