// A model as PipeDream's profiler writes it down: operations with their times and bytes, and which
// one reads what of which (Narayanan et al., SOSP 2019, section 3.1).
#pragma once

#include <string>
#include <vector>

#include "base/indexed.hpp"

namespace pipetrain {

struct ProfiledNode {
  std::string id;                // "node12"
  std::string description = {};  // what it computes, in the words of its framework
  double forward_ms = 0, backward_ms = 0;
  std::vector<double> output_bytes = {};  // of each tensor that it makes
  double parameter_bytes = 0;

  double compute_ms() const { return forward_ms + backward_ms; }
  double activation_bytes() const;  // all outputs
  std::string name() const;         // "node12 encoder" of "node12" and "encoder(10, 4)"
  bool operator==(const ProfiledNode&) const = default;
};

struct ProfiledEdge {
  int from = 0, to = 0;  // nodes by their place in the list
  auto operator<=>(const ProfiledEdge&) const = default;
};

struct ProfileGraph {
  Indexed<ProfiledNode> nodes;
  std::vector<ProfiledEdge> edges;  // no two are equal
  bool operator==(const ProfileGraph&) const = default;
};

Indexed<std::vector<int>> readers_of(const ProfileGraph& graph);  // of each node
Indexed<std::vector<int>> inputs_of(const ProfileGraph& graph);

// Every node after what it reads. A branch is followed to its end before the next one begins, so
// that few tensors are alive at once. Nodes on a cycle, and those that depend on one, are left out.
std::vector<int> topological_order(const ProfileGraph& graph);

// Nodes of which each reads the one before, and the first one the last; empty where there are none.
std::vector<int> find_cycle(const ProfileGraph& graph);

// Without what no stage computes: sources whose description begins with "Input", then sinks that
// begin with "__getitem__", which nobody reads. PipeDream's optimizer does not count them either.
ProfileGraph computed_part(const ProfileGraph& graph);

}  // namespace pipetrain
