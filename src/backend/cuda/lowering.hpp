// The whole graph as this backend computes it: plain layouts, and which kernel does a relu's
// forward.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "backend/cuda/kernel.hpp"
#include "base/indexed.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cuda {

// One problem per layer, decided on the uncut graph; they point into the graph. If a relu alone
// reads the output of a layer that can apply it, that layer does so, in place; the relu still does
// its own backward.
Indexed<Problem, LayerId> make_problems(const Graph& graph);

// `convolutions` must outlive the lowering.
std::unique_ptr<const Lowering> lower(const Graph& graph,
                                      const ConvolutionAlgorithms& convolutions);

}  // namespace pipetrain::cuda
