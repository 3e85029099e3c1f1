// What this machine computes with.
#pragma once

#include <cstdint>
#include <string>

namespace pipetrain {

std::string processor_name();  // as the kernel tells it; "unknown"
std::int64_t memory_bytes();   // of the machine

}  // namespace pipetrain
