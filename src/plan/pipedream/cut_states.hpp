// Where a model may be cut: PipeDream's states. A state is a set of layers that holds, with each
// layer, everything that the layer depends on; a stage is what is between two states. Of layers
// in a row the states are in a row too. Where branches run side by side there are more, and some do
// not contain each other:
//
//        b                 {a}, {a b}, {a c}, {a b c}, {a b c d}: 5 states of 4 layers
//     a <  > d
//        c
//
// A state is known by its last layers, none of which depends on another: an antichain. PipeDream's
// optimizer (SOSP 2019, released code) begins with the first source of the file and adds a layer
// that reads one of the state, with all that it depends on; so a later source comes with its first
// reader, and is no state by itself. Ours takes the same states.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/layer_chain.hpp"
#include "plan/pipedream/profile_graph.hpp"

namespace pipetrain {

// Layers by their place in CutStates::names, a bit each.
struct LayerSet {
  std::vector<std::uint64_t> words;

  bool has(int layer) const;
  void add(int layer);
  int count() const;
  bool contains(const LayerSet& other) const;
  bool operator==(const LayerSet&) const = default;
};

// What is known of a state: sums over its layers.
struct CutState {
  LayerSet layers;
  double compute_ms = 0;   // forward and backward
  double saved_bytes = 0;  // kept from forward to backward, of one mini-batch
  double parameter_bytes = 0;
  double crossing_bytes = 0;  // of tensors that a layer outside reads
};

inline constexpr int kNoLayers = -1;  // the empty set, where a model begins

struct CutStates {
  Indexed<std::string> names;  // of the layers, in topological order
  Indexed<CutState> states;    // smaller sets first; the last one holds every layer
  // For each state the smaller ones that it contains, those of less compute first.
  Indexed<std::vector<int>> inside;

  // Of the layers in state `to` and not in `from`, which may be kNoLayers.
  double compute_ms(int from, int to) const;
  double saved_bytes(int from, int to) const;
  double parameter_bytes(int from, int to) const;
  double crossing_bytes(int state) const;
  std::vector<int> layers(int from, int to) const;  // ascending
};

// UsageError, beginning with `where`, if there are more than `most` states: what a search over them
// takes grows with the square of their number and more.
inline constexpr int kMostStates = 4096;
CutStates cut_states(const ProfileGraph& graph, std::string_view where, int most = kMostStates);
CutStates cut_states(const LayerChain& chain, std::string_view where, int most = kMostStates);

}  // namespace pipetrain
