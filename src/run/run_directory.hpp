// The folder that holds one run and everything that replays it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "run/options.hpp"

namespace pipetrain {

// Files without which weights are meaningless, kept with them.
inline constexpr const char* vocabulary_file = "vocabulary.json";
inline constexpr const char* pieces_file = "pieces.model";
inline constexpr const char* class_names_file = "classes.json";

// --output, or runs/<config name>.
std::filesystem::path run_directory(const Options& options, const Config& config);
// UsageError where the folder, or one above it, is a file or cannot be looked at.
void check_output(const std::filesystem::path& folder);
// UsageError where this user may write neither into the folder nor, where it is not there yet, into
// the one that it will be made in.
void check_writable(const std::filesystem::path& folder);

// DeviceError with the file and the system's reason.
void make_folder(const std::filesystem::path& folder);
void remove_file(const std::filesystem::path& file);  // one that is not there is no error

// From here on the folder is about this run only: final weights and the report go, and every
// checkpoint later than `step`, where this run continues; all where it begins again. DeviceError.
void clear_run(const std::filesystem::path& folder, std::optional<std::int64_t> step);

}  // namespace pipetrain
