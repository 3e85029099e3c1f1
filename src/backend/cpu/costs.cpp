#include "backend/cpu/costs.hpp"

#include "backend/cpu/conv/suits_winograd.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "graph/graph.hpp"
#include "graph/traits.hpp"

namespace pipetrain::cpu {
namespace {

// What one core reaches in a large matrix product.
double core_gflop_s() {
  if (has_avx512()) return 256;
  return instruction_set() == InstructionSet::Avx2 ? 128 : 64;
}
constexpr double kCoreMemoryGbS = 16;
// A packet is handed over, not copied; but cache lines that another core has touched are slower to
// write.
constexpr double kCrossingGbS = 8;

// Does the layer before this relu apply it as it writes? Then the relu's backward counts as free
// too.
bool is_done_before(const Graph& graph, const Layer& relu) {
  const ValueId input = relu.inputs[0];
  if (input.value == 0 || graph.consumers(input).size() != 1) return false;
  const LayerSpec& before = graph.layers[input.value - 1].spec;
  return std::holds_alternative<Conv2d>(before) || std::holds_alternative<Linear>(before) ||
         std::holds_alternative<BatchNorm>(before);
}

// Four ninths of the multiplications, but with the transforms it takes half of the time.
constexpr double kFilteredShare = 0.5;

bool is_filtered(const Graph& graph, const Layer& layer, Precision precision) {
  const auto* conv = std::get_if<Conv2d>(&layer.spec);
  return conv && precision == Precision::F32 && has_avx512() &&
         suits_winograd(*conv, graph.shape(layer.inputs[0]).dims[0], layer.output);
}

BackendCosts::LayerShares shares(const Graph& graph, const Layer& layer, Precision precision) {
  const bool is_relu = std::holds_alternative<Relu>(layer.spec);
  if (traits_of(layer.spec).is_view || (is_relu && is_done_before(graph, layer)))
    return {.computed = 0, .moved = 0};
  return {.computed = is_filtered(graph, layer, precision) ? kFilteredShare : 1};
}

}  // namespace

BackendCosts costs(const Graph& graph, Precision precision) {
  BackendCosts costs{.layers = {},
                     .compute_gflop_s = core_gflop_s(),
                     .memory_gb_s = kCoreMemoryGbS,
                     .crossing_gb_s = kCrossingGbS};
  for (const Layer& layer : graph.layers) costs.layers.push_back(shares(graph, layer, precision));
  return costs;
}

}  // namespace pipetrain::cpu
