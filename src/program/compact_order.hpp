// An order in little memory: eight bytes for a forward or a backward. It is what orders make
// (order/order.hpp) and what `summarize` walks through; a Program has 48 bytes for each of these,
// for its transfers and for its update.
#pragma once

#include <cstdint>
#include <vector>

#include "base/indexed.hpp"
#include "program/program.hpp"

namespace pipetrain {

// F, B, I or W.
class ComputeInstruction {
 public:
  constexpr ComputeInstruction(Op op, StageId stage, MicrobatchId microbatch)
      : op_(static_cast<std::uint32_t>(op)),
        stage_(static_cast<std::uint32_t>(stage.value)),
        microbatch_(microbatch.value) {}
  constexpr Op op() const { return static_cast<Op>(op_); }
  constexpr StageId stage() const { return {static_cast<int>(stage_)}; }
  constexpr MicrobatchId microbatch() const { return {microbatch_}; }
  bool operator==(const ComputeInstruction&) const = default;

 private:
  std::uint32_t op_ : 4, stage_ : 28;
  std::int32_t microbatch_;
};
static_assert(sizeof(ComputeInstruction) == 8);

struct CompactOrder : ProgramShape {
  Indexed<std::vector<ComputeInstruction>, WorkerId> workers;
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
    for (const ComputeInstruction& i : order.workers[worker])
      visit(i.op(), i.stage(), MicrobatchId{i.microbatch().value + round * order.microbatches});
}

// The same as a program that has nothing but forwards and backwards: whole, and one worker's list.
Program to_program(const CompactOrder& order);
std::vector<Instruction> instructions_of(const CompactOrder& order, WorkerId worker);

}  // namespace pipetrain
