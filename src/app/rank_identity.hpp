// What all ranks of a job must have in common: the binary, the instruction set, the config and the
// data's size. Compared before the first step.
#pragma once

#include "config/config.hpp"
#include "run/rank_data.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// On rank 0: UsageError names the first rank that differs, its host, and what differs. The others
// only send theirs, and do not wait.
void compare_ranks(Job& job, const Config& config, const DataFacts& data);

}  // namespace pipetrain
