// What layers cost in plain loops: their arithmetic, one number after another. Nothing is fused.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::reference {

BackendCosts costs(const Graph& graph);

}  // namespace pipetrain::reference
