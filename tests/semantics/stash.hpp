// Test-only: an asynchronous 1F1B that never drains, and the policy of PipeDream (arXiv 1806.03377,
// section 3.3: weight stashing), to prove that a version policy is one value and nothing else
// moves.
#pragma once

#include "order/parts.hpp"
#include "schedules.hpp"
#include "versions/policy.hpp"

namespace pipetrain::test {

inline const Order never_drained{"never_drained", "1F1B over all mini-batches at once",
                                 [](const OrderInput& input) {
                                   return straight(input, [&](StageId stage) {
                                     std::vector<Instruction> list;
                                     append_one_f_one_b(list, stage, input.stages - 1 - stage.value,
                                                        0, input.minibatches * input.microbatches);
                                     return list;
                                   });
                                 }};

inline const VersionPolicy stash{
    "stash", "backward reads what forward read",
    [](const ReadContext& at) {
      return WeightRead{at.at_forward, AsStored{}};
    },
    [](const ReadContext&, const WeightRead& forward) { return forward; }};

inline const VersionPolicy vertical{
    "vertical", "all stages read what stage 0 had as the micro-batch came in",
    [](const ReadContext& at) {
      return WeightRead{at.at_entry, AsStored{}};
    },
    [](const ReadContext&, const WeightRead& forward) { return forward; }};

inline const Schedule stashing{"stashing", "", "", &never_drained, &stash, false};
inline const Schedule vertical_sync{"vertical_sync", "", "", &never_drained, &vertical, false};

}  // namespace pipetrain::test
