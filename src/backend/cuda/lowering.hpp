// The whole graph as this backend computes it: plain layouts, and who does a relu's forward.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "backend/cuda/kernel.hpp"
#include "base/indexed.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cuda {

// One problem a layer, decided on the uncut graph; they point into it. A relu that alone reads the
// output of a layer that can apply it is done by that layer, in place; its backward stays its own.
Indexed<Problem, LayerId> make_problems(const Graph& graph);

// `convolutions` outlives the lowering.
std::unique_ptr<const Lowering> lower(const Graph& graph,
                                      const ConvolutionAlgorithms& convolutions);

}  // namespace pipetrain::cuda
