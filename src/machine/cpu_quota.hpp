// The processor time that control groups grant, which is how containers are limited (docker run
// --cpus).
#pragma once

#include <filesystem>

namespace pipetrain {

// In cores, for instance 2.5: the least that the groups of this process and those around them
// grant, under version 2 or 1 of control groups; infinity if none sets a limit or none can be read.
// `root`: the root of the file system.
double cpu_quota(const std::filesystem::path& root = "/");

}  // namespace pipetrain
