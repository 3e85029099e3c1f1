// The traces of a job's ranks become one, rank 0's.
#pragma once

#include <cstdint>

#include "metrics/trace.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Each rank calls it at the end of a segment, of mini-batches [first, end): where steps of it were
// traced, rank 0 takes in what the others recorded, which is then no longer in theirs. Times are
// put together by the hosts' wall clocks. Throws ChannelClosed where the job has failed.
void join_traces(Job& job, Trace& trace, std::int64_t first, std::int64_t end);

}  // namespace pipetrain
