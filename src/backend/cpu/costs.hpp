// What layers cost on this backend, to weigh them against each other before anything is measured.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/linear/products.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::cpu {

// They follow from the processor's instructions and, in bf16, from how `products` are done, not
// from timings: machines with the same processor cut a model alike.
BackendCosts costs(const Graph& graph, Precision precision, Products products);

}  // namespace pipetrain::cpu
