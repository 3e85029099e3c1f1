// A dry run over costs: when each instruction would begin and end, with no device. Channels are
// unbounded; what a transfer occupies is for Costs::charges to say. For the numbers alone, and for
// shared links, program/summarize.hpp.
#pragma once

#include <vector>

#include "program/costs.hpp"
#include "program/program.hpp"

namespace pipetrain {

struct Span {
  double start = 0, end = 0;
  bool operator==(const Span&) const = default;
};

struct Summary {
  double makespan = 0;
  double bubble = 0;                  // idle share of the worker-time of the whole program, 0..1
  std::vector<double> idle;           // per worker, between its first and last compute instruction
  std::vector<int> peak_activations;  // per worker, forward to the input half of backward
  std::vector<int> peak_weight_versions;  // per worker
  bool operator==(const Summary&) const = default;
};

struct Timeline : Summary {
  // As Program::workers. A receive lasts while it waits; where transfers are charged to workers, a
  // send and its receive last as long as the transfer.
  std::vector<std::vector<Span>> spans;
  Charges charges = Charges::Channels;  // SideBySide: forwards and backwards of a worker overlap
};

// For programs that `check` finds nothing in, by the rules of `costs.charges`.
Timeline simulate(const Program& program, const Costs& costs);

}  // namespace pipetrain
