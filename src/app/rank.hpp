// Running as one of the processes that mpirun or srun started.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "backend/backend.hpp"
#include "base/ranks.hpp"
#include "config/config.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Null if this process was started alone. Otherwise waits for all ranks. DeviceError; UsageError in
// a build without MPI.
std::unique_ptr<Job> join_job();

// Does this process take part in the verb? Of several under a launcher it does only if the verb
// runs on ranks and the build has MPI. If not: UsageError on rank 0, false on the others, so that a
// mistake is reported once.
bool takes_part(std::string_view verb, bool runs_on_ranks);

// This process's ranks; a single one if `job` is null. From here on the job waits for news of a
// rank as long as the config says. UsageError if the config does not allow several ranks, or not
// this many.
Ranks ranks_of(Job* job, const Config& config);

// The backend that the config asks for; on several ranks, with this rank's devices
// (run/rank_devices.hpp).
std::unique_ptr<Backend> backend_of(const Config& config, const Ranks& ranks);

// Runs one rank of a verb and ends the job with it. Rank 0 returns the verb's exit code, or throws
// the failure of any rank; the others return 0 unless rank 0 cannot have heard of the failure.
int run_rank(Job& job, const std::function<int()>& verb);

}  // namespace pipetrain
