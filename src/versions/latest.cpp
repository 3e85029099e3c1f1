// The newest weights of the stage, forward and backward:
//   w(t+1) = w(t) - lr * grad f(w(t))
// under every order that drains at an update, since no update comes between the two.
#include "versions/policy.hpp"

namespace pipetrain::versions {

extern const VersionPolicy latest{.name = "latest",
                                  .summary = "forward and backward read the newest weights",
                                  .forward =
                                      [](const ReadContext& at) {
                                        return WeightRead{at.at_forward, AsStored{}};
                                      },
                                  .backward =
                                      [](const ReadContext& at, const WeightRead&) {
                                        return WeightRead{at.at_backward, AsStored{}};
                                      },
                                  .one_version = true};

}  // namespace pipetrain::versions
