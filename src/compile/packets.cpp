// What crosses a cut, and where it lies in a packet.
#include "base/cache_line.hpp"
#include "compile/recipe.hpp"
#include "plan/crossing.hpp"

namespace pipetrain {
namespace {

PacketLayout lay_out(const std::vector<ValueId>& values, const Lowering& lowering, int samples) {
  PacketLayout layout;
  for (const ValueId value : values) {
    layout.values.push_back(value);
    layout.offsets.push_back(layout.bytes);
    layout.bytes += whole_lines(lowering.value_bytes(value, samples));
  }
  return layout;
}

}  // namespace

PacketLayout activation_packet(const Graph& graph, const Lowering& lowering, LayerId next,
                               int samples) {
  return lay_out(values_crossing(graph, next), lowering, samples);
}

PacketLayout gradient_packet(const Graph& graph, const Lowering& lowering, LayerId next,
                             int samples) {
  const std::vector<bool> needed = needs_gradient(graph);
  std::vector<ValueId> values;
  for (const ValueId value : values_crossing(graph, next))
    if (needed[static_cast<std::size_t>(value.value)]) values.push_back(value);
  return lay_out(values, lowering, samples);
}

std::vector<bool> needs_gradient(const Graph& graph) {
  std::vector<bool> needed(graph.layers.size() + 1, false);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    bool any = !layer.parameters.empty();
    for (const ValueId input : layer.inputs)
      any = any || needed[static_cast<std::size_t>(input.value)];
    needed[i + 1] = any;
  }
  return needed;
}

}  // namespace pipetrain
