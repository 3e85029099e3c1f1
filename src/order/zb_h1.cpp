// ZB-H1: Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241, section 2). A backward
// runs in halves: the input half I, which the previous stage waits for, and the weight half W,
// which only the update waits for. Stage s runs forwards and input halves as 1f1b does, and its
// weight halves s micro-batches later: these fill the time in which 1f1b waits while it drains. So
// the number of micro-batches in flight is that of 1f1b.
//
// 3 stages, 4 micro-batches, forward and both halves take equal time:
//   stage 0  F0 F1 F2  .  . I0 W0 F3 I1 W1 I2 W2 I3 W3|
//   stage 1   . F0 F1  . I0 F2 I1 W0 F3 I2 W1 I3 W2 W3|
//   stage 2   .  . F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3|
#include <algorithm>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

void append(ComputeList& list, StageId stage, int warmup, int count) {
  const int lag = stage.value;
  for (int i = 0; i < count + warmup; ++i) {
    if (i < count) list.push_back(forward(stage, i));
    const int done = i - warmup;  // the micro-batch that goes backward now
    if (done >= 0) list.push_back(backward_input(stage, done));
    if (done >= lag) list.push_back(backward_weight(stage, done - lag));
  }
  for (int m = std::max(0, count - lag); m < count; ++m) list.push_back(backward_weight(stage, m));
}

}  // namespace

extern const Order zb_h1{
    "zb_h1", "1f1b with the weight halves of the backwards moved into the drain",
    [](const OrderInput& input) {
      return straight(input, [&](ComputeList& list, StageId stage) {
        append(list, stage, warmup_forwards(Warmup::OneFOneB, input.stages, stage),
               input.microbatches);
      });
    }};

}  // namespace pipetrain::orders
