// The processor time that control groups grant, as containers are given theirs (docker run --cpus).
#pragma once

#include <filesystem>

namespace pipetrain {

// In cores, 2.5 for instance: the least of what the groups of this process and those around them
// grant, by version 2 or 1 of control groups; infinity where none limits it or none can be read.
// `root`: of the file system.
double cpu_quota(const std::filesystem::path& root = "/");

}  // namespace pipetrain
