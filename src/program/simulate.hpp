// A dry run over costs: when each instruction would begin and end, with no device. Channels are
// unbounded; a transfer occupies its channel, not the workers.
#pragma once

#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// Of one micro-batch on one stage, in any unit. A backward that is not split takes both halves.
struct StageCosts {
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;
  double transfer = 0;  // over the boundary to the next stage, activation or gradient
  double tail = 0;      // of backward_weight: what comes after a head's send
};

// What an instruction that computes takes; 0 for the others.
double time_of(const StageCosts& costs, Op op);

struct Costs {
  StageCosts all;
  std::vector<StageCosts> per_stage = {};  // one per stage; empty: `all` for each
  const StageCosts& of(StageId s) const { return per_stage.empty() ? all : per_stage[s.value]; }
};

struct Span {
  double start = 0, end = 0;
  bool operator==(const Span&) const = default;
};

struct Timeline {
  std::vector<std::vector<Span>> spans;  // as Program::workers. A receive lasts while it waits
  double makespan = 0;
  double bubble = 0;                  // idle share of the worker-time of the whole program, 0..1
  std::vector<double> idle;           // per worker, between its first and last compute instruction
  std::vector<int> peak_activations;  // per worker, forward to the input half of backward
  std::vector<int> peak_weight_versions;  // per worker
};

// For programs that `check` finds nothing in.
Timeline simulate(const Program& program, const Costs& costs);

}  // namespace pipetrain
