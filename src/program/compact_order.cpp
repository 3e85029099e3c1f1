#include "program/compact_order.hpp"

#include <algorithm>

namespace pipetrain {

bool has(const CompactOrder& order, Op op) {
  return std::ranges::any_of(order.workers, [op](const ComputeList& list) {
    for (const ComputeInstruction i : list)
      if (i.op() == op) return true;
    return false;
  });
}

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

}  // namespace pipetrain
