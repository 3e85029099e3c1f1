// The reference lowering: nothing is fused, every layout is the plain one.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::reference {

std::unique_ptr<const Lowering> lower(const Graph& graph);

}  // namespace pipetrain::reference
