// The folder that holds one run and everything needed to replay it.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/manifest.hpp"
#include "config/config.hpp"
#include "run/options.hpp"

namespace pipetrain {

// Files that are kept with the weights, which are meaningless without them.
inline constexpr const char* vocabulary_file = "vocabulary.json";
inline constexpr const char* pieces_file = "pieces.model";
inline constexpr const char* class_names_file = "classes.json";

// --output, or runs/<config name>.
std::filesystem::path run_directory(const Options& options, const Config& config);
// UsageError if the folder, or one above it, is a file or cannot be examined.
void check_output(const std::filesystem::path& folder);
// UsageError if this user may not write into the folder or, if it does not exist yet, into the one
// in which it will be made.
void check_writable(const std::filesystem::path& folder);

// DeviceError with the file and the system's reason.
void make_folder(const std::filesystem::path& folder);
void remove_file(const std::filesystem::path& file);  // ignores a missing file

// From here on the folder is about this run only: removes final weights, the report, and all
// checkpoints, or those later than where this run resumes; `latest` and `best` then name what they
// named at that time, if it is still there. Null: it starts over. DeviceError.
void clear_run(const std::filesystem::path& folder, const Progress* resumed);

}  // namespace pipetrain
