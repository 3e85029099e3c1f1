// An order in little memory: at most eight bytes for a forward or a backward, and what repeats only
// once (program/compute_list.hpp). Orders return it (order/order.hpp) and `summarize` walks through
// it; a Program takes 48 bytes for each forward or backward, for its transfers and for its update.
#pragma once

#include <vector>

#include "base/indexed.hpp"
#include "program/compute_list.hpp"
#include "program/program.hpp"

namespace pipetrain {

struct CompactOrder : ProgramShape {
  Indexed<ComputeList, WorkerId> workers;
  // The lists are those of the first mini-batch. Every other mini-batch runs them again, each time
  // with `microbatches` more added to the numbers of the micro-batches.
  bool repeats = false;
  bool operator==(const CompactOrder&) const = default;

  int rounds() const { return repeats ? minibatches : 1; }
};

// Calls `visit(op, stage, microbatch)` for everything that a worker runs, from top to bottom.
template <class Visit>
void each_compute(const CompactOrder& order, WorkerId worker, Visit visit) {
  for (int round = 0; round < order.rounds(); ++round)
    for (const ComputeInstruction i : order.workers[worker])
      visit(i.op(), i.stage(), MicrobatchId{i.microbatch().value + round * order.microbatches});
}

// Whether any worker runs this.
bool has(const CompactOrder& order, Op op);

// As a program of forwards and backwards only: all of it, and one worker's list.
Program to_program(const CompactOrder& order);
std::vector<Instruction> instructions_of(const CompactOrder& order, WorkerId worker);

}  // namespace pipetrain
