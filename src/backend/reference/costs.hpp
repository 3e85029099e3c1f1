// What layers cost plain loops: their arithmetic, one number after the other. Nothing is fused.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::reference {

BackendCosts costs(const Graph& graph);

}  // namespace pipetrain::reference
