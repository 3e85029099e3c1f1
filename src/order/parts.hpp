// What the orders are built from.
#pragma once

#include <utility>
#include <vector>

#include "order/order.hpp"

namespace pipetrain {

using ComputeList = std::vector<ComputeInstruction>;

inline ComputeInstruction forward(StageId stage, int microbatch) {
  return {Op::Forward, stage, {microbatch}};
}
inline ComputeInstruction backward(StageId stage, int microbatch) {
  return {Op::Backward, stage, {microbatch}};
}

// The two halves, where an order names them apart.
inline ComputeInstruction backward_input(StageId stage, int microbatch) {
  return {Op::BackwardInput, stage, {microbatch}};
}
inline ComputeInstruction backward_weight(StageId stage, int microbatch) {
  return {Op::BackwardWeight, stage, {microbatch}};
}

// Micro-batches first .. first+count-1: `warmup` forwards, then one forward and one backward in
// turn, then the backwards that are left. A warm-up longer than `count` is all forwards first.
inline void append_one_f_one_b(ComputeList& list, StageId stage, int warmup, int first, int count) {
  for (int i = 0; i < count + warmup; ++i) {
    if (i < count) list.push_back(forward(stage, first + i));
    if (i >= warmup) list.push_back(backward(stage, first + i - warmup));
  }
}

// Fills the lists of input.stages workers: `append(list, w)` writes that of worker w.
template <class Append>
CompactOrder listed(const OrderInput& input, ProgramShape shape, Append append) {
  shape.microbatches = input.microbatches;
  shape.minibatches = input.minibatches;
  CompactOrder order{{std::move(shape)}, {}};
  ComputeList list;
  for (int w = 0; w < input.stages; ++w) {
    list.clear();
    append(list, w);
    order.workers.emplace_back(list.begin(), list.end());  // with room for no more
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
