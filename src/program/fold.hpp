// A long program in little memory. A schedule that never drains repeats itself once it is in steady
// state, one round further each time. A round is one mini-batch or, if copies of stages take whole
// mini-batches in turn, ProgramShape::minibatches_per_round() of them.
//
//   worker 0   F0 F1 F2 B0 U0 | F3 B1 U1 | B2 U2 B3 U3      the part between the bars is a round
//
// Round r of a worker's loop, from 0, runs with the mini-batches of r rounds added to every number
// of a micro-batch or a version; what comes after the loop, with those of the last round.
#pragma once

#include <optional>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

struct Loop {  // [begin, end) of a worker's list
  std::size_t begin = 0, end = 0;
  bool operator==(const Loop&) const = default;
};

struct FoldedProgram {
  Program program;          // with one round of each loop
  std::vector<Loop> loops;  // per worker
};

// The instruction, `minibatches` later: a multiple of those in a round.
Instruction shifted(Instruction instruction, const Program& program, int minibatches);

// Folds a schedule's programs of K mini-batches and of one round more. None if the longer program
// is not the shorter one with a round inserted.
std::optional<FoldedProgram> fold(const Program& shorter, const Program& longer);

// The whole program, with that many rounds (0: none).
Program unfold(const FoldedProgram& folded, int rounds);

// Over how many rounds of `microbatches` a steady state's time is measured. What limits a pipeline
// may differ between the micro-batches in flight, about as many as stages, and then so do rounds:
// whole groups of micro-batches in flight, if a round is not many of them.
int timed_rounds(int stages, int microbatches);

}  // namespace pipetrain
