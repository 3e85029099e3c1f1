// Where spdlog's lines and the last error go.
#pragma once

#include <filesystem>
#include <string_view>

#include "run/options.hpp"

namespace pipetrain {

// To standard error, so that standard output is left to the verb; no line waits for its reader.
void set_up_logging(const Options& options);

// For the error that ends the program; ignores --quiet and --log-level. Throws like
// LineOutput::keep.
void print_error(std::string_view message);

// From here on messages are appended to a file, with the time, instead of being printed.
// DeviceError.
void log_to(const std::filesystem::path& file);

}  // namespace pipetrain
