// Averages over windows: avg_pool, and global_avg_pool with one window.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

std::unique_ptr<Kernel> make_avg_pool(const AvgPool& spec, Problem problem);

}  // namespace pipetrain::cpu
