// Which files the samples come from, by the keys of [data] that name them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace pipetrain {

struct NamedData {
  std::string key;               // "data.train_images"
  std::filesystem::path folder;  // of an image folder; else empty
  // In the order in which they are read; below `folder` where there is one.
  std::vector<std::filesystem::path> files;
};

// Of the keys that mean something under this kind and are given. DataError where a folder of images
// cannot be listed. None for what is drawn (`glyphs`, `synthetic`).
std::vector<NamedData> data_files(const DataConfig& config);

// UsageError where a file or folder of samples is missing, and of a data set that
// scripts/fetch-dataset gets.
void check_fetched(const DataConfig& config);

}  // namespace pipetrain
