// What layers cost on this backend, to weigh them against each other before anything is measured.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cpu {

// Follows from the instructions that the processor has, not from timings: machines with the same
// instructions cut a model alike.
BackendCosts costs(const Graph& graph, Precision precision);

}  // namespace pipetrain::cpu
