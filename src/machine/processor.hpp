// The hardware of this machine.
#pragma once

#include <cstdint>
#include <string>

namespace pipetrain {

std::string processor_name();  // as the kernel reports it, or "unknown"
std::int64_t memory_bytes();   // of the machine

}  // namespace pipetrain
