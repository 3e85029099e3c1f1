// One forward, one backward, with a flush: "PipeDream-Flush" of Narayanan et al., "Memory-Efficient
// Pipeline-Parallel DNN Training" (arXiv 2006.09503, section 3.2). Stage s of P runs P-1-s
// forwards, then alternates, then drains before the update (the | after a backward). At most P-s
// micro-batches are in flight on a stage, however many a mini-batch has. A longer warm-up hides
// transfers: with 2(P-1-s) forwards it is 1F1B-SO of Zhao et al., "BaPipe" (arXiv 2012.12544).
//
// 3 stages, 4 micro-batches, forward and backward take equal time:
//   stage 0  F0 F1 F2  .  . B0 F3 B1  . B2  . B3|
//   stage 1   . F0 F1  . B0 F2 B1 F3 B2  . B3|
//   stage 2   .  . F0 B0 F1 B1 F2 B2 F3 B3|
#include "order/parts.hpp"

namespace pipetrain::orders {

extern const Order one_f_one_b{
    "one_f_one_b", "one forward, one backward, drained at every update",
    [](const OrderInput& input) {
      return straight(input, [&](ComputeList& list, StageId stage) {
        append_one_f_one_b(list, stage, warmup_forwards(input.warmup, input.stages, stage), 0,
                           input.microbatches);
      });
    },
    true};

}  // namespace pipetrain::orders
