// Where a model may be cut: PipeDream's states. A state is a set of layers that holds, with each
// layer, everything that this layer depends on; a stage is what is between two states. If the
// layers are in a row, so are the states. Where branches run side by side there are more states,
// and some do not contain each other:
//
//        b                 {a}, {a b}, {a c}, {a b c}, {a b c d}: 5 states of 4 layers
//     a <  > d
//        c
//
// A state is known by its last layers, none of which depends on another: an antichain. PipeDream's
// optimizer (SOSP 2019, released code) begins with the first source of the file and adds a layer
// that reads a layer of the state, with all that it depends on. So a later source comes with its
// first reader, and is not a state on its own. Our states are the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/layer_chain.hpp"
#include "plan/pipedream/profile_graph.hpp"

namespace pipetrain {

// Layers by their index in CutStates::names, a bit each.
struct LayerSet {
  std::vector<std::uint64_t> words;

  bool has(int layer) const;
  void add(int layer);
  int count() const;
  bool contains(const LayerSet& other) const;
  bool operator==(const LayerSet&) const = default;
};

// What is known about a state: sums over its layers.
struct CutState {
  LayerSet layers;
  double compute_ms = 0;   // forward and backward
  double saved_bytes = 0;  // kept from forward to backward, for one mini-batch
  double parameter_bytes = 0;
  double crossing_bytes = 0;  // of tensors that layers outside read
};

inline constexpr int kNoLayers = -1;  // the empty set, where a model begins

struct CutStates {
  Indexed<std::string> names;  // of the layers, in topological order
  Indexed<CutState> states;    // smaller sets first; the last one holds every layer
  // For each state, the smaller ones that it contains, by ascending compute.
  Indexed<std::vector<int>> inside;

  // For the layers in state `to` that are not in `from`, which may be kNoLayers.
  double compute_ms(int from, int to) const;
  double saved_bytes(int from, int to) const;
  double parameter_bytes(int from, int to) const;
  double crossing_bytes(int state) const;
  std::vector<int> layers(int from, int to) const;  // ascending
};

// Throws a UsageError that begins with `where` if there are more than `most` states: the time of a
// search over them grows with the square of their number or faster.
inline constexpr int kMostStates = 4096;
CutStates cut_states(const ProfileGraph& graph, std::string_view where, int most = kMostStates);
CutStates cut_states(const LayerChain& chain, std::string_view where, int most = kMostStates);

}  // namespace pipetrain
