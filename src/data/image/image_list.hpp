// The image files of class folders: FOLDER/CLASS/*.jpg, .jpeg, .png, whatever the case, also in
// subfolders. Classes are numbered in the order of their names, and files are ordered by class,
// folder and name, byte by byte, as in torchvision's ImageFolder. Names that begin with a dot are
// skipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace pipetrain {

struct ImageEntry {
  std::string file;  // relative to the folder
  std::int32_t label = 0;
};

struct ImageList {
  std::filesystem::path folder;
  std::vector<std::string> classes;  // by label
  std::vector<ImageEntry> images;
};

// DataError if the folder does not exist, is a file or cannot be read, has no class folders, or has
// one without images.
ImageList list_images(const std::filesystem::path& folder);
// With the class numbers of `training`, of which some classes may be missing; DataError for a class
// that is not in `training`.
ImageList list_images_like(const ImageList& training, const std::filesystem::path& folder);

ImageList picked(const ImageList& whole, const std::vector<SampleId>& samples);

}  // namespace pipetrain
