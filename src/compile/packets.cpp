// What crosses a cut, and where it is in a packet.
#include "base/cache_line.hpp"
#include "compile/recipe.hpp"
#include "graph/graph.hpp"
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
  const Indexed<bool, ValueId> trained = trained_values(graph);
  std::vector<ValueId> values;
  for (const ValueId value : values_crossing(graph, next))
    if (trained[value]) values.push_back(value);
  return lay_out(values, lowering, samples);
}

}  // namespace pipetrain
