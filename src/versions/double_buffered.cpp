// Double-buffered weights: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training"
// (arXiv 2006.09503, section 3.1). Every micro-batch of mini-batch k reads version max(k - 1, 0) on
// every stage, forward and backward. So every gradient is one update old, and two versions suffice.
//   w(t+1) = w(t) - lr * grad f(w(t-1))
#include <algorithm>

#include "versions/policy.hpp"

namespace pipetrain::versions {

extern const VersionPolicy double_buffered{
    "double_buffered", "mini-batch k reads version k - 1, everywhere",
    [](const ReadContext& at) {
      return WeightRead{{std::max(at.microbatch.value / at.microbatches - 1, 0)}, AsStored{}};
    },
    [](const ReadContext&, const WeightRead& forward) { return forward; }, true};

}  // namespace pipetrain::versions
