// GPipe: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline
// Parallelism" (arXiv 1811.06965, section 2.2). Every forward of a mini-batch, then its backwards,
// the last micro-batch first; the pipeline drains before the update (the | after a backward).
//
// 3 stages, 4 micro-batches, forward and backward take equal time:
//   stage 0  F0 F1 F2 F3  .  .  .  . B3 B2 B1 B0|
//   stage 1   . F0 F1 F2 F3  .  . B3 B2 B1 B0|
//   stage 2   .  . F0 F1 F2 F3 B3 B2 B1 B0|
#include "order/parts.hpp"

namespace pipetrain::orders {

extern const Order gpipe{"gpipe", "all forwards, then all backwards in reverse",
                         [](const OrderInput& input) {
                           return straight(input, [&](ComputeList& list, StageId stage) {
                             for (int m = 0; m < input.microbatches; ++m)
                               list.push_back(forward(stage, m));
                             for (int m = input.microbatches; m-- > 0;)
                               list.push_back(backward(stage, m));
                           });
                         }};

}  // namespace pipetrain::orders
