// A training as one of the processes that mpirun or srun started.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/ranks.hpp"
#include "config/config.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Null where this process was started alone. Otherwise waits until all ranks are there.
// DeviceError; UsageError in a build without MPI.
std::unique_ptr<Job> join_job();

// Has this process a part in the verb? Of several under a launcher, only where ranks run it and the
// build has MPI. Else UsageError on rank 0, and false on the others: a mistake is reported once.
bool takes_part(std::string_view verb, bool runs_on_ranks);

// Of this process; all one where `job` is null. UsageError where the config is not for several
// ranks, or for fewer.
Ranks ranks_of(const Job* job, const Config& config);

// Runs one rank of a verb and ends the job by it. Rank 0 returns its code and throws the failure of
// whichever rank it was; the others return 0 unless rank 0 cannot have heard of the failure.
int run_rank(Job& job, const std::function<int()>& verb);

}  // namespace pipetrain
