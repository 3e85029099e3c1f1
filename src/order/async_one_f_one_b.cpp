// One forward, one backward, never drained: Narayanan et al., "PipeDream: Generalized Pipeline
// Parallelism for DNN Training" (SOSP 2019, section 3.2). Stage s of P runs P-1-s forwards, then
// alternates over all mini-batches. It updates after each mini-batch's last backward (the |), while
// the forwards of later mini-batches are in flight.
//
// 3 stages, 1 micro-batch per mini-batch, 6 mini-batches, forward and backward take equal time:
//   stage 0  F0 F1 F2  .  . B0|F3 B1|F4 B2|F5 B3| . B4| . B5|
//   stage 1   . F0 F1  . B0|F2 B1|F3 B2|F4 B3|F5 B4| . B5|
//   stage 2   .  . F0 B0|F1 B1|F2 B2|F3 B3|F4 B4|F5 B5|
#include "order/parts.hpp"

namespace pipetrain::orders {

extern const Order async_one_f_one_b{
    .name = "async_one_f_one_b",
    .summary = "one forward, one backward, never drained",
    .lists =
        [](const OrderInput& input) {
          return straight(input, [&](ComputeList& list, StageId stage) {
            append_one_f_one_b(list, stage, warmup_forwards(input.warmup, input.stages, stage), 0,
                               input.minibatches * input.microbatches);
          });
        },
    .takes_warmup = true,
    .flushes = false};

}  // namespace pipetrain::orders
