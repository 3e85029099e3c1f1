// TiMePReSt: Dutta et al. (arXiv 2410.14312, section 3). On every stage, forward reads what stage 0
// had when the micro-batch came in, and backward the newest weights that every stage had made when
// the backward began on the last one. So a mini-batch's gradient is taken at one version of the
// whole model, which is not the version that its forward read.
#include "versions/policy.hpp"

namespace pipetrain::versions {

extern const VersionPolicy committed{
    .name = "committed",
    .summary = "forward reads stage 0's version at entry, backward the newest on every stage",
    .forward =
        [](const ReadContext& at) {
          return WeightRead{at.at_entry, AsStored{}};
        },
    .backward =
        [](const ReadContext& at, const WeightRead&) {
          return WeightRead{at.at_turn, AsStored{}};
        },
    .reads_turn = true};

}  // namespace pipetrain::versions
