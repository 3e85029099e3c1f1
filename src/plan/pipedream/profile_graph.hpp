// A model as PipeDream's profiler records it: operations with their times and bytes, and which one
// reads what from which (Narayanan et al., SOSP 2019, section 3.1).
#pragma once

#include <string>
#include <vector>

#include "base/indexed.hpp"

namespace pipetrain {

struct ProfiledNode {
  std::string id;                // "node12"
  std::string description = {};  // what it computes, in its framework's words
  double forward_ms = 0, backward_ms = 0;
  std::vector<double> output_bytes = {};  // of each tensor that it makes
  double parameter_bytes = 0;

  double compute_ms() const { return forward_ms + backward_ms; }
  double activation_bytes() const;  // all outputs
  std::string name() const;         // "node12 encoder" for "node12" and "encoder(10, 4)"
  bool operator==(const ProfiledNode&) const = default;
};

struct ProfiledEdge {
  int from = 0, to = 0;  // indices of nodes
  auto operator<=>(const ProfiledEdge&) const = default;
};

struct ProfileGraph {
  Indexed<ProfiledNode> nodes;
  std::vector<ProfiledEdge> edges;  // no two are equal
  bool operator==(const ProfileGraph&) const = default;
};

Indexed<std::vector<int>> readers_of(const ProfileGraph& graph);  // for each node
Indexed<std::vector<int>> inputs_of(const ProfileGraph& graph);

// Every node comes after what it reads. A branch is followed to its end before the next one begins,
// so that few tensors are alive at once. Nodes on a cycle, and those that depend on one, are left
// out.
std::vector<int> topological_order(const ProfileGraph& graph);

// Nodes each of which reads the one before; the first reads the last. Empty if there is no cycle.
std::vector<int> find_cycle(const ProfileGraph& graph);

// The graph without what no stage computes: sources whose description begins with "Input", then
// unread sinks that begin with "__getitem__". PipeDream's optimizer does not count them either.
ProfileGraph computed_part(const ProfileGraph& graph);

}  // namespace pipetrain
