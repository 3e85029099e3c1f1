// What layers cost this backend, to be weighed against each other before anything is measured.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cpu {

// It follows from the instructions that the processor has, and from no timing: on machines with the
// same ones models are cut alike.
BackendCosts costs(const Graph& graph, Precision precision);

}  // namespace pipetrain::cpu
