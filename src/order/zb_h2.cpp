// ZB-H2: Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241, section 2). With a
// backward in halves (I for the previous stage, W for the update) and a warm-up long enough, a
// stage that has begun never waits: stage s of P runs 2(P-s)-1 forwards first, then input half,
// weight half and forward in turn, where up to 2s weight halves are put off. That costs memory:
// twice the micro-batches of 1f1b are in flight on the first stage.
//
// 3 stages, 6 micro-batches, forward and both halves take as long:
//   stage 0  F0 F1 F2 F3 F4 I0 W0 F5 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5|
//   stage 1   . F0 F1 F2 I0 F3 I1 F4 I2 W0 F5 I3 W1 I4 W2 I5 W3 W4 W5|
//   stage 2   .  . F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 F5 I5 W1 W2 W3 W4 W5|
#include <algorithm>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

// One mini-batch of `count` micro-batches from `first` on.
void append(std::vector<Instruction>& list, StageId stage, int warmup, int first, int count) {
  const int most_put_off = 2 * stage.value;
  int forwards = 0, weights = 0;
  for (; forwards < std::min(warmup, count); ++forwards)
    list.push_back(forward(stage, first + forwards));
  for (int m = 0; m < count; ++m) {
    list.push_back(backward_input(stage, first + m));
    if (m + 1 - weights > most_put_off) list.push_back(backward_weight(stage, first + weights++));
    if (forwards < count) list.push_back(forward(stage, first + forwards++));
  }
  while (weights < count) list.push_back(backward_weight(stage, first + weights++));
}

}  // namespace

extern const Order zb_h2{
    "zb_h2", "a longer warm-up and backwards in halves, so that a stage that has begun never waits",
    [](const OrderInput& input) {
      return straight(input, [&](StageId stage) {
        std::vector<Instruction> list;
        const int n = input.microbatches,
                  warmup = warmup_forwards(Warmup::Full, input.stages, stage);
        for (int first = 0; first < input.minibatches * n; first += n)
          append(list, stage, warmup, first, n);
        return list;
      });
    }};

}  // namespace pipetrain::orders
