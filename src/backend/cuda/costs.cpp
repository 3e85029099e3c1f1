#include "backend/cuda/costs.hpp"

#include "backend/cuda/lowering.hpp"
#include "graph/layer.hpp"
#include "graph/traits.hpp"

namespace pipetrain::cuda {
namespace {

// Rounded figures of a recent data-centre GPU, f32 without TF32.
constexpr double kComputeGflopS = 40'000, kMemoryGbS = 2'500;
// Between two devices, over a link of their own. Within a device a transfer costs nothing, but
// there the stages also share the device's arithmetic.
constexpr double kCrossingGbS = 250;

// If the layer before applies a relu, only its backward is left, half of its cost.
constexpr double kBackwardShare = 0.5;

double share(const Problem& problem) {
  if (traits_of(problem.layer->spec).is_view) return 0;
  return problem.relu_ahead ? kBackwardShare : 1;
}

}  // namespace

BackendCosts costs(const Graph& graph) {
  BackendCosts costs{.layers = {},
                     .compute_gflop_s = kComputeGflopS,
                     .memory_gb_s = kMemoryGbS,
                     .crossing_gb_s = kCrossingGbS};
  for (const Problem& problem : make_problems(graph))
    costs.layers.push_back({.computed = share(problem), .moved = share(problem)});
  return costs;
}

}  // namespace pipetrain::cuda
