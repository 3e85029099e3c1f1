// Weight stashing: Narayanan et al., "PipeDream" (SOSP 2019, section 3.3). Forward reads the
// newest weights of its stage, backward the same again, with n stages and N = 1:
//   w(t+1) = w(t) - lr * grad f(w_1(t-n+1), w_2(t-n+2), .., w_n(t))
#include "versions/policy.hpp"

namespace pipetrain::versions {

extern const VersionPolicy stash{
    "stash", "backward reads what its forward read",
    [](const ReadContext& at) {
      return WeightRead{at.at_forward, AsStored{}};
    },
    [](const ReadContext&, const WeightRead& forward) { return forward; }, true};

}  // namespace pipetrain::versions
