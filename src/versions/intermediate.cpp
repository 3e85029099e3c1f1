// I-TiMePReSt: Dutta et al. (arXiv 2509.23241). Forward reads the newest weights, backward a point
// between those and the newest now, nearer to the latter the staler they are:
//   w = sigma(d) * w_stale + (1 - sigma(d)) * w_latest,  sigma = exp(-lambda * d)
// where d counts the updates in between. Without a stash w_stale is estimated by PipeMare's delta:
//   w = w_latest - sigma(d) * d * delta
// We could not obtain the paper's own formula: see docs/methods/i_timeprest.md.
#include <cmath>

#include "versions/policy.hpp"

namespace pipetrain::versions {
namespace {

double share_of_stale(const MixRule& rule, int staleness) {
  switch (rule.share) {
    case MixRule::Share::Exp:
      return std::exp(-rule.lambda * staleness);
    case MixRule::Share::Inverse:
      return 1.0 / (1 + staleness);
    case MixRule::Share::PowerOfTwo:
      return std::exp2(-staleness);
    case MixRule::Share::Constant:
      return std::exp(-rule.lambda);
  }
  return 0;
}

WeightRead backward(const ReadContext& at, const WeightRead& forward) {
  const int staleness = at.at_backward.value - forward.version.value;
  if (staleness == 0) return {at.at_backward, AsStored{}};
  const double share = share_of_stale(at.mix, staleness);
  if (!at.mix.stash) {
    if (!at.mix.extrapolates) return {at.at_backward, AsStored{}};  // delta is off
    return {at.at_backward, Extrapolate{share * staleness}};
  }
  return {at.at_backward, Blend{forward.version, share}};
}

}  // namespace

extern const VersionPolicy intermediate{"intermediate",
                                        "backward reads between the stale and the newest weights",
                                        [](const ReadContext& at) {
                                          return WeightRead{at.at_forward, AsStored{}};
                                        },
                                        backward};

}  // namespace pipetrain::versions
