// How ranks that add up gradients together communicate: each hands its parts of a sum to all others
// that need them, and all add up in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/late_work.hpp"
#include "transport/job.hpp"

namespace pipetrain {

class PartsLink {
 public:
  struct Part {  // its users define what the numbers mean
    std::int32_t kind = 0, index = 0;
    std::int64_t step = 0, microbatch = 0;
    std::vector<float> values;
  };
  using Parts = std::vector<Part>;
  // Which sum, and for which of its updates, counted from the first one of the job.
  struct Sum {
    std::int64_t of = 0, update = 0;
  };

  // `on_parts`: receives what another rank has handed in, on the job's wire thread.
  PartsLink(Job& job, Topic topic, int kernel_threads,
            std::function<void(const Sum& sum, Parts parts)> on_parts);
  ~PartsLink();

  WireThread& wire_thread() const { return job_.wire_thread(); }
  void hand_in(const Sum& sum, std::span<const Part> parts, std::span<const int> ranks);
  // Runs work that arrived parts make necessary, on a thread of its own.
  void later(std::function<void()> work) { late_.add(std::move(work)); }
  void settle() { late_.settle(); }

 private:
  Job& job_;
  const Topic topic_;
  LateWork late_;
};

}  // namespace pipetrain
