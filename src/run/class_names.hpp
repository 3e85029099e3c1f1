// The names of an image folder's classes, by label: kept with the weights, which are meaningless
// without them, and compared when the weights are used again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pipetrain {

// The names as a JSON list; bytes that are not UTF-8 are replaced.
std::string class_names_json(const std::vector<std::string>& names);

// DataError, with the differences, if the run of `weights` (a file or a checkpoint) has kept other
// names; `folder` is where `names` were found. Data without names always fit.
void check_class_names(const std::filesystem::path& weights, const std::vector<std::string>& names,
                       const std::filesystem::path& folder);

// "classes  0 cat, 1 dog"; only the first ones if there are many.
std::string class_names_text(const std::vector<std::string>& names);

}  // namespace pipetrain
