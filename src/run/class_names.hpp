// The names of an image folder's classes, by label: kept with the weights, which are meaningless
// without them, and compared where the weights are used again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pipetrain {

// A list of names as JSON; what is no UTF-8 in them is replaced.
std::string class_names_json(const std::vector<std::string>& names);

// DataError that names the differences where the run that `weights` (a file or a checkpoint) belong
// to has kept other names; `folder` is where these names were found. Data without names fit.
void check_class_names(const std::filesystem::path& weights, const std::vector<std::string>& names,
                       const std::filesystem::path& folder);

// "classes  0 cat, 1 dog", of many the first ones.
std::string class_names_text(const std::vector<std::string>& names);

}  // namespace pipetrain
