#include "plan/pipedream/profile_graph.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace pipetrain {
namespace {

ProfileGraph kept_part(const ProfileGraph& graph, const std::vector<bool>& kept) {
  ProfileGraph part;
  Indexed<int> new_place(graph.nodes.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!kept[n]) continue;
    new_place[n] = static_cast<int>(part.nodes.size());
    part.nodes.push_back(graph.nodes[n]);
  }
  for (const ProfiledEdge edge : graph.edges)
    if (kept[edge.from] && kept[edge.to])
      part.edges.push_back({new_place[edge.from], new_place[edge.to]});
  return part;
}

// The graph without the nodes that begin with `word` and have no neighbours on one side.
ProfileGraph without_ends(const ProfileGraph& graph, std::string_view word,
                          const std::vector<std::vector<int>>& neighbours) {
  Indexed<bool> kept(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    kept[n] = !neighbours[n].empty() || !graph.nodes[n].description.starts_with(word);
  return kept_part(graph, kept);
}

}  // namespace

double ProfiledNode::activation_bytes() const {
  return std::accumulate(output_bytes.begin(), output_bytes.end(), 0.0);
}

std::string ProfiledNode::name() const {
  return description.empty() ? id : id + ' ' + description.substr(0, description.find('('));
}

Indexed<std::vector<int>> readers_of(const ProfileGraph& graph) {
  Indexed<std::vector<int>> readers(graph.nodes.size());
  for (const ProfiledEdge edge : graph.edges) readers[edge.from].push_back(edge.to);
  return readers;
}

Indexed<std::vector<int>> inputs_of(const ProfileGraph& graph) {
  Indexed<std::vector<int>> inputs(graph.nodes.size());
  for (const ProfiledEdge edge : graph.edges) inputs[edge.to].push_back(edge.from);
  return inputs;
}

std::vector<int> topological_order(const ProfileGraph& graph) {
  const auto readers = readers_of(graph);
  Indexed<std::size_t> missing(graph.nodes.size(), 0);  // inputs that are not in the order yet
  for (const ProfiledEdge edge : graph.edges) ++missing[edge.to];
  std::vector<int> ready, order;  // the last one to become ready is taken first
  for (std::size_t n = graph.nodes.size(); n > 0; --n)
    if (missing[n - 1] == 0) ready.push_back(static_cast<int>(n - 1));
  while (!ready.empty()) {
    const int node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (const int reader : readers[node])
      if (--missing[reader] == 0) ready.push_back(reader);
  }
  return order;
}

std::vector<int> find_cycle(const ProfileGraph& graph) {
  Indexed<bool> left(graph.nodes.size(), true);
  for (const int node : topological_order(graph)) left[node] = false;
  const auto first = std::find(left.begin(), left.end(), true);
  if (first == left.end()) return {};
  // Whatever is left reads something that is left, so walking from input to input closes a cycle.
  const auto inputs = inputs_of(graph);
  const auto input_left = [&](int node) {
    const auto& all = inputs[node];
    return *std::find_if(all.begin(), all.end(), [&](int input) { return left[input]; });
  };
  auto node = static_cast<int>(first - left.begin());
  for (std::size_t step = 0; step < graph.nodes.size(); ++step) node = input_left(node);
  std::vector<int> cycle = {node};
  for (int next = input_left(node); next != node; next = input_left(next)) cycle.push_back(next);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

ProfileGraph computed_part(const ProfileGraph& graph) {
  const ProfileGraph fed = without_ends(graph, "Input", inputs_of(graph));
  return without_ends(fed, "__getitem__", readers_of(fed));
}

}  // namespace pipetrain
