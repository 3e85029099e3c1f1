// The limits that the system sets for this process, for messages about what it was refused.
#pragma once

#include <string>

namespace pipetrain {

// " (limits: 64 processes and threads of this user, ulimit -u; 2048.0 MiB of memory, ulimit -v)";
// empty if there are no limits.
std::string limits_text();

}  // namespace pipetrain
