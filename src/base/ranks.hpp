// Which process of a job runs which workers.
#pragma once

#include "base/ids.hpp"

namespace pipetrain {

struct Ranks {
  int rank = 0, count = 1;  // this process, and how many the job has: at most one per worker
  int on_host = 1;          // how many of them are on this host, this one included

  // Each rank has a block of the workers; the blocks are as even as possible.
  int of(WorkerId worker, int workers) const {
    return static_cast<int>(static_cast<long long>(worker.value) * count / workers);
  }
  bool has(WorkerId worker, int workers) const { return of(worker, workers) == rank; }
};

}  // namespace pipetrain
