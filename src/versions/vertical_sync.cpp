// Vertical sync: Narayanan et al., "PipeDream" (SOSP 2019, section 3.3). On every stage, forward
// and backward, a micro-batch reads the version that was newest on stage 0 when it came in:
//   w(t+1) = w(t) - lr * grad f(w_1(t-n+1), .., w_n(t-n+1))
#include "versions/policy.hpp"

namespace pipetrain::versions {

extern const VersionPolicy vertical_sync{
    "vertical_sync", "every stage reads what stage 0 had as the micro-batch came in",
    [](const ReadContext& at) {
      return WeightRead{at.at_entry, AsStored{}};
    },
    [](const ReadContext&, const WeightRead& forward) { return forward; }, true};

}  // namespace pipetrain::versions
