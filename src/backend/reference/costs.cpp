#include "backend/reference/costs.hpp"

#include "graph/graph.hpp"
#include "graph/traits.hpp"

namespace pipetrain::reference {

BackendCosts costs(const Graph& graph) {
  BackendCosts costs{.layers = {}, .compute_gflop_s = 1, .memory_gb_s = 16, .crossing_gb_s = 8};
  for (const Layer& layer : graph.layers) {
    const double share = traits_of(layer.spec).is_view ? 0 : 1;
    costs.layers.push_back({.computed = share, .moved = share});
  }
  return costs;
}

}  // namespace pipetrain::reference
