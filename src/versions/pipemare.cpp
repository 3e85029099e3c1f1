// PipeMare: Yang et al., "PipeMare: Asynchronous Pipeline Parallel DNN Training" (arXiv
// 1910.05124). Forward and backward read the newest weights; no version is kept. Discrepancy
// correction (T2) lets backward read an estimate of what forward read, tau updates ago:
//   u = w - tau * delta,  delta(t+1) = gamma * delta(t) + (1 - gamma) * (w(t+1) - w(t)),
//   gamma = D ^ (1 / tau)
// tau is the mean delay under the order that runs. Where it is 0 there is nothing to correct.
#include "versions/policy.hpp"

namespace pipetrain::versions {

extern const VersionPolicy pipemare{
    .name = "pipemare",
    .summary = "both read the newest weights, backward set back along their motion",
    .forward =
        [](const ReadContext& at) {
          return WeightRead{at.at_forward, AsStored{}};
        },
    .backward =
        [](const ReadContext& at, const WeightRead&) {
          if (!at.mix.extrapolates || at.delay == 0) return WeightRead{at.at_backward, AsStored{}};
          return WeightRead{at.at_backward, Extrapolate{at.delay}};
        },
    .one_version = true};

}  // namespace pipetrain::versions
