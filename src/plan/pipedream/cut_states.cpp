#include "plan/pipedream/cut_states.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "graph/layer.hpp"

namespace pipetrain {
namespace {

LayerSet no_layers(std::size_t count) { return {std::vector<std::uint64_t>((count + 63) / 64)}; }

[[noreturn]] void refuse_states(std::string_view where, int most) {
  throw UsageError(fmt::format(
      "{}: its branches can be cut in more than {} ways (antichains), more than the search allows; "
      "join the layers of a branch, or those of a block that no cut should divide, into one",
      printable(where), most));
}

// Finds the states of a graph, starting from its first source.
class StateWalk {
 public:
  StateWalk(const ProfileGraph& graph, std::string_view where, int most)
      : readers_(readers_of(graph)), inputs_(inputs_of(graph)), where_(where), most_(most) {}

  std::vector<LayerSet> all() {
    const auto layers = inputs_.size();
    find_first(no_layers(layers));
    for (std::size_t s = 0; s < found_.size(); ++s) {
      const LayerSet state = found_[s];  // a copy, since the list grows
      bool last = true;
      for (const int reader : readers_outside(state)) {
        take(with(state, reader));
        last = false;
      }
      // A part of the graph without an edge to this one comes after it.
      if (last) find_first(state);
    }
    return found_;
  }

 private:
  std::vector<int> readers_outside(const LayerSet& state) const {
    LayerSet seen = state;
    std::vector<int> outside;
    for (std::size_t layer = 0; layer < readers_.size(); ++layer) {
      if (!state.has(static_cast<int>(layer))) continue;
      for (const int reader : readers_[layer]) {
        if (seen.has(reader)) continue;
        seen.add(reader);
        outside.push_back(reader);
      }
    }
    return outside;
  }

  // The state with the layer, and with everything that this layer depends on.
  LayerSet with(LayerSet state, int layer) const {
    std::vector<int> open = {layer};
    state.add(layer);
    while (!open.empty()) {
      const int reader = open.back();
      open.pop_back();
      for (const int input : inputs_[reader]) {
        if (state.has(input)) continue;
        state.add(input);
        open.push_back(input);
      }
    }
    return state;
  }

  void find_first(const LayerSet& state) {
    for (std::size_t layer = 0; layer < inputs_.size(); ++layer) {
      if (!inputs_[layer].empty() || state.has(static_cast<int>(layer))) continue;
      return take(with(state, static_cast<int>(layer)));
    }
  }

  void take(LayerSet state) {
    if (!known_.emplace(state.words, true).second) return;
    if (static_cast<int>(found_.size()) == most_) refuse_states(where_, most_);
    found_.push_back(std::move(state));
  }

  std::vector<std::vector<int>> readers_, inputs_;
  std::string_view where_;
  int most_;
  std::vector<LayerSet> found_;
  std::map<std::vector<std::uint64_t>, bool> known_;
};

// The graph with its nodes in topological order, those of equal rank in the order of the file. Node
// 0 is the first source.
ProfileGraph in_order(const ProfileGraph& graph) {
  const std::vector<int> order = topological_order(graph);
  std::vector<int> place(order.size());
  ProfileGraph sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<int>(i);
    sorted.nodes.push_back(graph.nodes[order[i]]);
  }
  for (const ProfiledEdge edge : graph.edges)
    sorted.edges.push_back({place[edge.from], place[edge.to]});
  return sorted;
}

CutState summed(LayerSet layers, const ProfileGraph& graph) {
  CutState state{.layers = std::move(layers)};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!state.layers.has(static_cast<int>(n))) continue;
    state.compute_ms += graph.nodes[n].compute_ms();
    state.saved_bytes += graph.nodes[n].activation_bytes();
    state.parameter_bytes += graph.nodes[n].parameter_bytes;
  }
  LayerSet sent = no_layers(graph.nodes.size());
  for (const ProfiledEdge edge : graph.edges) {
    if (!state.layers.has(edge.from) || state.layers.has(edge.to) || sent.has(edge.from)) continue;
    sent.add(edge.from);
    state.crossing_bytes += graph.nodes[edge.from].activation_bytes();
  }
  return state;
}

void find_inside(CutStates& cuts) {
  cuts.inside.resize(cuts.states.size());
  for (std::size_t s = 0; s < cuts.states.size(); ++s) {
    auto& inside = cuts.inside[s];
    for (std::size_t k = 0; k < s; ++k)
      if (cuts.states[s].layers.contains(cuts.states[k].layers))
        inside.push_back(static_cast<int>(k));
    std::stable_sort(inside.begin(), inside.end(), [&](int a, int b) {
      return cuts.states[a].compute_ms < cuts.states[b].compute_ms;
    });
  }
}

}  // namespace

bool LayerSet::has(int layer) const { return (words[layer / 64] >> (layer % 64) & 1) != 0; }

void LayerSet::add(int layer) { words[layer / 64] |= std::uint64_t{1} << (layer % 64); }

int LayerSet::count() const {
  return std::accumulate(words.begin(), words.end(), 0,
                         [](int sum, std::uint64_t word) { return sum + std::popcount(word); });
}

bool LayerSet::contains(const LayerSet& other) const {
  for (std::size_t w = 0; w < words.size(); ++w)
    if ((other.words[w] & ~words[w]) != 0) return false;
  return true;
}

double CutStates::compute_ms(int from, int to) const {
  return states[to].compute_ms - (from < 0 ? 0 : states[from].compute_ms);
}

double CutStates::saved_bytes(int from, int to) const {
  return states[to].saved_bytes - (from < 0 ? 0 : states[from].saved_bytes);
}

double CutStates::parameter_bytes(int from, int to) const {
  return states[to].parameter_bytes - (from < 0 ? 0 : states[from].parameter_bytes);
}

double CutStates::crossing_bytes(int state) const { return states[state].crossing_bytes; }

std::vector<int> CutStates::layers(int from, int to) const {
  std::vector<int> list;
  for (int layer = 0; layer < static_cast<int>(names.size()); ++layer)
    if (states[to].layers.has(layer) && (from < 0 || !states[from].layers.has(layer)))
      list.push_back(layer);
  return list;
}

CutStates cut_states(const ProfileGraph& graph, std::string_view where, int most) {
  const ProfileGraph sorted = in_order(graph);
  CutStates cuts;
  for (const ProfiledNode& node : sorted.nodes) cuts.names.push_back(node.name());
  std::vector<LayerSet> found = StateWalk(sorted, where, most).all();
  std::stable_sort(found.begin(), found.end(),
                   [](const LayerSet& a, const LayerSet& b) { return a.count() < b.count(); });
  for (LayerSet& layers : found) cuts.states.push_back(summed(std::move(layers), sorted));
  find_inside(cuts);
  return cuts;
}

CutStates cut_states(const LayerChain& chain, std::string_view where, int most) {
  if (static_cast<int>(chain.layers.size()) > most) refuse_states(where, most);
  CutStates cuts;
  CutState state{.layers = no_layers(chain.layers.size())};
  for (const ChainLayer& layer : chain.layers) {
    state.layers.add(static_cast<int>(cuts.names.size()));
    state.compute_ms += layer.compute_ms();
    state.saved_bytes += static_cast<double>(layer.saved_bytes);
    state.parameter_bytes += static_cast<double>(layer.parameter_bytes);
    state.crossing_bytes = static_cast<double>(layer.sent_bytes);
    cuts.names.push_back(layer.name);
    cuts.states.push_back(state);
  }
  find_inside(cuts);
  return cuts;
}

}  // namespace pipetrain
