#include "backend/cpu/costs.hpp"

#include "backend/cpu/conv/suits_winograd.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "backend/cpu/lowering.hpp"
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
// too, except after a sum, which has no backward of its own.
bool is_done_before(const Graph& graph, const Layer& relu) {
  const std::optional<LayerId> before = applied_by(graph, relu);
  return before && !std::holds_alternative<Add>(graph.layers[*before].spec);
}

// Four ninths of the multiplications, but with the transforms it takes half of the time.
constexpr double kFilteredShare = 0.5;

bool is_filtered(const Graph& graph, const Layer& layer, bool convolves_bf16) {
  const auto* conv = std::get_if<Conv2d>(&layer.spec);
  return conv && !convolves_bf16 && has_avx512() &&
         suits_winograd(*conv, graph.shape(layer.inputs[0]).dims[0], layer.output);
}

// With AVX2, a padded convolution of the smallest images takes longer than its FLOPs say: in a
// profile of vgg16 with 64 samples, 2 x 2 images take 1.5 times a large image's time for each FLOP,
// and 4 x 4 images 1.15 times.
double small_image_share(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.spec);
  if (!conv || conv->padding == Pair{0, 0} || instruction_set() != InstructionSet::Avx2) return 1;
  const std::int64_t pixels = layer.output.dims[1] * layer.output.dims[2];
  return pixels <= 4 ? 1.5 : pixels <= 16 ? 1.15 : 1;
}

BackendCosts::LayerShares shares(const Graph& graph, const Layer& layer, bool convolves_bf16) {
  const bool is_relu = std::holds_alternative<Relu>(layer.spec);
  if (traits_of(layer.spec).is_view || (is_relu && is_done_before(graph, layer)))
    return {.computed = 0, .moved = 0};
  return {.computed = is_filtered(graph, layer, convolves_bf16) ? kFilteredShare
                                                                : small_image_share(layer)};
}

}  // namespace

BackendCosts costs(const Graph& graph, Precision precision, Products products) {
  // Otherwise convolutions of bf16 values are done in f32.
  const bool convolves_bf16 = precision == Precision::Bf16 && products == Products::Bf16;
  BackendCosts costs{.layers = {},
                     .compute_gflop_s = core_gflop_s(),
                     .memory_gb_s = kCoreMemoryGbS,
                     .crossing_gb_s = kCrossingGbS};
  for (const Layer& layer : graph.layers)
    costs.layers.push_back(shares(graph, layer, convolves_bf16));
  return costs;
}

}  // namespace pipetrain::cpu
