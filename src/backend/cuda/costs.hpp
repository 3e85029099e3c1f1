// What layers cost this backend, to be weighed against each other before anything is measured.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cuda {

// The same for all devices, so that models are cut alike on all of them.
BackendCosts costs(const Graph& graph);

}  // namespace pipetrain::cuda
