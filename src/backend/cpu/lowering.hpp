// The whole graph as this backend computes it: layouts of values, and which kernel does a relu's
// work.
#pragma once

#include <memory>
#include <optional>

#include "backend/backend.hpp"
#include "backend/cpu/linear/products.hpp"

namespace pipetrain {
struct Graph;
struct Layer;
}  // namespace pipetrain

namespace pipetrain::cpu {

class Sinusoids;  // sinusoids.hpp

// The layer that applies `relu` as it writes its output, which nothing else reads; if there is
// none, the relu's own kernel does the forward.
std::optional<LayerId> applied_by(const Graph& graph, const Layer& relu);

// `sinusoids` must outlive the lowering.
std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options,
                                      Products products, Sinusoids& sinusoids);

}  // namespace pipetrain::cpu
