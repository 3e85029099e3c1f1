// Which process of a job runs which workers.
#pragma once

#include "base/ids.hpp"

namespace pipetrain {

struct Ranks {
  int rank = 0, count = 1;  // this process among all of the job's, at most as many as workers
  int on_host = 1;          // of them, with this one

  // Each has a block of the workers, as even as can be.
  int of(WorkerId worker, int workers) const {
    return static_cast<int>(static_cast<long long>(worker.value) * count / workers);
  }
  bool has(WorkerId worker, int workers) const { return of(worker, workers) == rank; }
};

}  // namespace pipetrain
