// A dry run over costs: when each instruction would begin and end, without a device. Channels are
// unbounded; Costs::charges says what a transfer occupies. For the numbers only, and for shared
// links, see program/summarize.hpp.
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
  // As Program::workers. A receive lasts while it waits; if transfers are charged to workers, a
  // send and its receive last as long as the transfer.
  std::vector<std::vector<Span>> spans;
  Charges charges = Charges::Channels;  // SideBySide: forwards and backwards of a worker overlap
};

// For programs in which `check` finds nothing. Follows the rules of `costs.charges`.
Timeline simulate(const Program& program, const Costs& costs);

}  // namespace pipetrain
