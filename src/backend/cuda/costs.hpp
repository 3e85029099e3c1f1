// What layers cost on this backend, to weigh them against each other before anything is measured.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cuda {

// The same for all devices, so that they all cut a model alike.
BackendCosts costs(const Graph& graph);

}  // namespace pipetrain::cuda
