// What the system allows this process, where that is less than everything: for messages
// about what it was refused.
#pragma once

#include <string>

namespace pipetrain {

// " (limits: 64 processes and threads of this user, ulimit -u; 2048.0 MiB of memory, ulimit -v)";
// empty where there is none.
std::string limits_text();

}  // namespace pipetrain
