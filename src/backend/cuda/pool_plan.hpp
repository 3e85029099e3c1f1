// The geometry of max_pool and avg_pool for the device, worked out from the layer.
#pragma once

#include "backend/cuda/device/pool.hpp"
#include "backend/cuda/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cuda {

inline Extent extent(const Pair& pair) {
  return {static_cast<int>(pair[0]), static_cast<int>(pair[1])};
}

template <class Pool>
Pooling plan_pooling(const Pool& spec, const Problem& problem) {
  const auto &in = problem.inputs[0].dims, &out = problem.output.dims;  // channels, height, width
  return {.planes = problem.samples * in[0],
          .in = extent({in[1], in[2]}),
          .out = extent({out[1], out[2]}),
          .kernel = extent(spec.kernel),
          .stride = extent(spec.stride),
          .padding = extent(spec.padding)};
}

}  // namespace pipetrain::cuda
