// The whole graph as this backend computes it: layouts of values, and which kernel does a relu's
// work.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/linear/products.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cpu {

std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options,
                                      Products products);

}  // namespace pipetrain::cpu
