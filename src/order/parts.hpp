// What the orders are built from.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "order/order.hpp"

namespace pipetrain {

inline ComputeInstruction forward(StageId stage, int microbatch) {
  return {Op::Forward, stage, {microbatch}};
}
inline ComputeInstruction backward(StageId stage, int microbatch) {
  return {Op::Backward, stage, {microbatch}};
}

// The two halves, for orders that name them separately.
inline ComputeInstruction backward_input(StageId stage, int microbatch) {
  return {Op::BackwardInput, stage, {microbatch}};
}
inline ComputeInstruction backward_weight(StageId stage, int microbatch) {
  return {Op::BackwardWeight, stage, {microbatch}};
}

// Micro-batches first .. first+count-1: `warmup` forwards, then a forward and a backward
// alternately, then the remaining backwards. If the warm-up is longer than `count`, all forwards
// come first.
inline void append_one_f_one_b(ComputeList& list, StageId stage, int warmup, int first, int count) {
  const int ahead = std::min(warmup, count);
  list.repeat({forward(stage, first)}, ahead, 1);
  list.repeat({forward(stage, first + ahead), backward(stage, first)}, count - ahead, 1);
  list.repeat({backward(stage, first + count - ahead)}, ahead, 1);
}

// Fills the lists of input.stages workers: `append(list, w)` writes the list of worker w.
template <class Append>
CompactOrder listed(const OrderInput& input, ProgramShape shape, Append append) {
  shape.microbatches = input.microbatches;
  shape.minibatches = input.minibatches;
  CompactOrder order{{std::move(shape)}, {}};
  for (int w = 0; w < input.stages; ++w) {
    auto& list = order.workers.emplace_back();
    if (input.only_worker < 0 || input.only_worker == w) append(list, w);
  }
  return order;
}

// A straight pipeline: stage s on worker s.
template <class Append>
CompactOrder straight(const OrderInput& input, Append append) {
  return listed(input, {.stages = input.stages, .placement = {}},
                [&](ComputeList& list, int worker) { append(list, StageId{worker}); });
}

// Stage s on the workers placement[s].
template <class Append>
CompactOrder placed(const OrderInput& input, std::vector<std::vector<WorkerId>> placement,
                    Append append) {
  const int stages = static_cast<int>(placement.size());
  return listed(input, {.stages = stages, .placement = std::move(placement)}, append);
}

}  // namespace pipetrain
