// A long program in little memory: a schedule that never drains repeats itself once it is in steady
// state, a round further each time: of one mini-batch, or where copies of stages take whole ones in
// turn, of ProgramShape::minibatches_per_round().
//
//   worker 0   F0 F1 F2 B0 U0 | F3 B1 U1 | B2 U2 B3 U3      the part between the bars is a round
//
// Round r of a worker's loop, from 0, is run with the mini-batches of r rounds added to every
// number: of micro-batches and of versions; what is after the loop with those of the last
// round.
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

// The instruction, `minibatches` later: a multiple of those of a round.
Instruction shifted(Instruction instruction, const Program& program, int minibatches);

// From a schedule's programs of K mini-batches and of one round more; none where the longer one is
// not the shorter one with a round put in.
std::optional<FoldedProgram> fold(const Program& shorter, const Program& longer);

// The whole program, with that many rounds (0: none).
Program unfold(const FoldedProgram& folded, int rounds);

}  // namespace pipetrain
