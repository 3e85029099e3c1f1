// What the orders are built from.
#pragma once

#include <utility>
#include <vector>

#include "order/order.hpp"

namespace pipetrain {

inline Instruction forward(StageId stage, int microbatch) {
  return {Op::Forward, stage, {microbatch}, {}};
}
inline Instruction backward(StageId stage, int microbatch) {
  return {Op::Backward, stage, {microbatch}, {}};
}

// The two halves, where an order names them apart.
inline Instruction backward_input(StageId stage, int microbatch) {
  return {Op::BackwardInput, stage, {microbatch}, {}};
}
inline Instruction backward_weight(StageId stage, int microbatch) {
  return {Op::BackwardWeight, stage, {microbatch}, {}};
}

// Micro-batches first .. first+count-1: `warmup` forwards, then one forward and one backward in
// turn, then the backwards that are left. A warm-up longer than `count` is all forwards first.
inline void append_one_f_one_b(std::vector<Instruction>& list, StageId stage, int warmup, int first,
                               int count) {
  for (int i = 0; i < count + warmup; ++i) {
    if (i < count) list.push_back(forward(stage, first + i));
    if (i >= warmup) list.push_back(backward(stage, first + i - warmup));
  }
}

// A straight pipeline: stage s on worker s, which runs the list `of_stage(s)`.
template <class OfStage>
Program straight(const OrderInput& input, OfStage of_stage) {
  Program program;
  program.stages = input.stages;
  program.microbatches = input.microbatches;
  program.minibatches = input.minibatches;
  for (int s = 0; s < input.stages; ++s) program.workers.push_back(of_stage(StageId{s}));
  return program;
}

// Stage s on the workers placement[s], worker w of input.stages runs the list `of_worker(w)`.
template <class OfWorker>
Program placed(const OrderInput& input, std::vector<std::vector<WorkerId>> placement,
               OfWorker of_worker) {
  Program program;
  program.stages = static_cast<int>(placement.size());
  program.microbatches = input.microbatches;
  program.minibatches = input.minibatches;
  program.placement = std::move(placement);
  for (int w = 0; w < input.stages; ++w) program.workers.push_back(of_worker(w));
  return program;
}

}  // namespace pipetrain
