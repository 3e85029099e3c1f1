// Joins the traces of a job's ranks into rank 0's.
#pragma once

#include <cstdint>

#include "metrics/trace.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Each rank calls it at the end of a segment, of mini-batches [first, end). If steps of it were
// traced, rank 0 takes what the others recorded, which they then no longer have. Times are aligned
// by the hosts' wall clocks. Throws ChannelClosed if the job has failed.
void join_traces(Job& job, Trace& trace, std::int64_t first, std::int64_t end);

}  // namespace pipetrain
