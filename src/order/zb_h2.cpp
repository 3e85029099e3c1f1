// ZB-H2: Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241, section 2). With a
// backward in halves (I for the previous stage, W for the update) and a long enough warm-up, a
// stage that has begun never waits: stage s of P runs 2(P-s)-1 forwards first, then input half,
// weight half and forward in turn, with up to 2s weight halves deferred. That costs memory: the
// first stage has twice the micro-batches of 1f1b in flight.
//
// 3 stages, 6 micro-batches, forward and both halves take equal time:
//   stage 0  F0 F1 F2 F3 F4 I0 W0 F5 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5|
//   stage 1   . F0 F1 F2 I0 F3 I1 F4 I2 W0 F5 I3 W1 I4 W2 I5 W3 W4 W5|
//   stage 2   .  . F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 F5 I5 W1 W2 W3 W4 W5|
#include <algorithm>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

void append(ComputeList& list, StageId stage, int warmup, int count) {
  const int most_put_off = 2 * stage.value;
  int forwards = 0, weights = 0;
  for (; forwards < std::min(warmup, count); ++forwards) list.push_back(forward(stage, forwards));
  for (int m = 0; m < count; ++m) {
    list.push_back(backward_input(stage, m));
    if (m + 1 - weights > most_put_off) list.push_back(backward_weight(stage, weights++));
    if (forwards < count) list.push_back(forward(stage, forwards++));
  }
  while (weights < count) list.push_back(backward_weight(stage, weights++));
}

}  // namespace

extern const Order zb_h2{
    "zb_h2", "a longer warm-up and backwards in halves, so that a stage that has begun never waits",
    [](const OrderInput& input) {
      return straight(input, [&](ComputeList& list, StageId stage) {
        append(list, stage, warmup_forwards(Warmup::Full, input.stages, stage), input.microbatches);
      });
    }};

}  // namespace pipetrain::orders
