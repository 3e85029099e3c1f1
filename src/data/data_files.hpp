// Which files the samples come from, by the keys of [data] that name them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace pipetrain {

struct NamedData {
  std::string key;               // "data.train_images"
  std::filesystem::path folder;  // of an image folder; empty for files
  // In the order in which they are read; relative to `folder`, if there is one.
  std::vector<std::filesystem::path> files;
};

// What the keys name that are given and apply to this kind. DataError if an image folder cannot be
// listed. Empty for drawn data (`glyphs`, `synthetic`).
std::vector<NamedData> data_files(const DataConfig& config);

// UsageError if a file or folder of samples is missing, in a data set that scripts/fetch-dataset
// downloads.
void check_fetched(const DataConfig& config);

}  // namespace pipetrain
