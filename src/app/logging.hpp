// Where spdlog's lines go.
#pragma once

#include <filesystem>

#include "run/options.hpp"

namespace pipetrain {

// To standard error, so that standard output is the verb's alone; no line waits for its reader.
void set_up_logging(const Options& options);

// From here on messages are appended to a file, with the time, and not printed. DeviceError.
void log_to(const std::filesystem::path& file);

}  // namespace pipetrain
