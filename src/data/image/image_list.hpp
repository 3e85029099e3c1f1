// The image files of class folders: FOLDER/CLASS/*.jpg, .jpeg, .png, in any mixture of cases, and
// in folders below. Classes are numbered in the order of their names, files follow by class, folder
// and name, byte by byte, as in torchvision's ImageFolder. Names that begin with a dot are passed
// over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace pipetrain {

struct ImageEntry {
  std::string file;  // below the folder
  std::int32_t label = 0;
};

struct ImageList {
  std::filesystem::path folder;
  std::vector<std::string> classes;  // by label
  std::vector<ImageEntry> images;
};

// DataError where the folder is none or cannot be read, has no class folders, or has one without an
// image.
ImageList list_images(const std::filesystem::path& folder);
// With the numbers of `training`'s classes, of which some may be missing; DataError for another
// one.
ImageList list_images_like(const ImageList& training, const std::filesystem::path& folder);

ImageList picked(const ImageList& whole, const std::vector<SampleId>& samples);

}  // namespace pipetrain
