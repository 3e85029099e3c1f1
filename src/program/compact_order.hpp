// An order in little memory: at most eight bytes for a forward or a backward, and what repeats once
// (program/compute_list.hpp). It is what orders make (order/order.hpp) and what `summarize` walks
// through; a Program has 48 bytes for each of these, for its transfers and for its update.
#pragma once

#include <vector>

#include "base/indexed.hpp"
#include "program/compute_list.hpp"
#include "program/program.hpp"

namespace pipetrain {

struct CompactOrder : ProgramShape {
  Indexed<ComputeList, WorkerId> workers;
  // The lists are those of the first mini-batch. The others run the same again, with
  // `microbatches` more added to the numbers of micro-batches each time.
  bool repeats = false;
  bool operator==(const CompactOrder&) const = default;

  int rounds() const { return repeats ? minibatches : 1; }
};

// Calls `visit(op, stage, microbatch)` for all that a worker runs, from top to bottom.
template <class Visit>
void each_compute(const CompactOrder& order, WorkerId worker, Visit visit) {
  for (int round = 0; round < order.rounds(); ++round)
    for (const ComputeInstruction i : order.workers[worker])
      visit(i.op(), i.stage(), MicrobatchId{i.microbatch().value + round * order.microbatches});
}

// The same as a program that has nothing but forwards and backwards: whole, and one worker's list.
Program to_program(const CompactOrder& order);
std::vector<Instruction> instructions_of(const CompactOrder& order, WorkerId worker);

}  // namespace pipetrain
