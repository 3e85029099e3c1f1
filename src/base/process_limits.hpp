// The limits that the system puts on this process: for messages about what it was refused.
#pragma once

#include <string>

namespace pipetrain {

// " (limits: 64 processes and threads of this user, ulimit -u; 2048.0 MiB of memory, ulimit -v)";
// empty where there is none.
std::string limits_text();

}  // namespace pipetrain
