#include "program/compact_order.hpp"

namespace pipetrain {
namespace {

// Of the micro-batches 0 .. count-1, those that run on the copy.
int run_before(int count, int copy, int copies) {
  return count <= copy ? 0 : (count - copy - 1) / copies + 1;
}

}  // namespace

std::vector<Instruction> instructions_of(const CompactOrder& order, WorkerId worker) {
  std::vector<Instruction> list;
  list.reserve(order.workers[worker].size() * static_cast<std::size_t>(order.rounds()));
  each_compute(order, worker, [&](Op op, StageId stage, MicrobatchId microbatch) {
    list.push_back({op, stage, microbatch, {}});
  });
  return list;
}

Program to_program(const CompactOrder& order) {
  Program program{{order}, {}};
  for (int w = 0; w < static_cast<int>(order.workers.size()); ++w)
    program.workers.push_back(instructions_of(order, {w}));
  return program;
}

int share_of_copy(const ProgramShape& shape, int copy, int copies, MinibatchId minibatch) {
  const int first = minibatch.value * shape.microbatches;
  return run_before(first + shape.microbatches, copy, copies) - run_before(first, copy, copies);
}

}  // namespace pipetrain
