#include "plan/read_profile.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "plan/pipedream/graph_txt.hpp"

namespace pipetrain {
namespace {

std::string profile_text(const std::filesystem::path& file) {
  try {
    return read_whole_stream(file);
  } catch (const CannotRead& error) {
    throw UsageError(fmt::format("{}: cannot be read: {}; name a profile, such as a graph.txt",
                                 printable(file.string()), error.why()));
  }
}

ChainLayer chain_layer(const ProfiledNode& node) {
  return {.name = node.name(),
          .forward_ms = node.forward_ms,
          .backward_input_ms = node.backward_ms,
          .saved_bytes = std::llround(node.activation_bytes()),
          .parameter_bytes = std::llround(node.parameter_bytes)};
}

}  // namespace

LayerChain chain_of(const ProfileGraph& graph) {
  const std::vector<int> order = topological_order(graph);
  Indexed<int> place(order.size()), last_reader(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  for (const ProfiledEdge edge : graph.edges) {
    int& last = last_reader[edge.from];
    last = std::max(last, place[edge.to]);
  }
  LayerChain chain;
  Indexed<double> change(order.size() + 1, 0);  // of the bytes alive, from one cut to the next
  double alive = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int node = order[i];
    chain.layers.push_back(chain_layer(graph.nodes[node]));
    if (last_reader[node] >= 0) {
      change[i] += graph.nodes[node].activation_bytes();
      change[last_reader[node]] -= graph.nodes[node].activation_bytes();
    }
    alive += change[i];
    chain.layers.back().sent_bytes = std::llround(std::max(alive, 0.0));
  }
  return chain;
}

ProfiledModel read_graph_profile(const std::filesystem::path& file) {
  return parse_graph_profile(profile_text(file), file.string());
}

ProfiledModel parse_graph_profile(const std::string& text, const std::string& where) {
  const ProfileGraph graph = computed_part(parse_graph_txt(text, where));
  if (graph.nodes.empty())
    throw UsageError(
        fmt::format("{}: it has inputs only, and nothing that a stage computes", printable(where)));
  return {chain_of(graph), cut_states(graph, where)};
}

}  // namespace pipetrain
