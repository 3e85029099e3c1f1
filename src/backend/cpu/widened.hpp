// A layer that is computed in f32, between values that are stored as bf16.
#pragma once

#include <memory>

#include "backend/cpu/kernel.hpp"

namespace pipetrain::cpu {

// Whether the layer's values are bf16; below, the problem as it is then computed, in f32.
bool is_bf16(const Problem& problem);
Problem in_f32(Problem problem);

// Wraps `f32`, the kernel of in_f32(problem); for layers with one input.
std::unique_ptr<Kernel> make_widened(Problem problem, std::unique_ptr<Kernel> f32);

}  // namespace pipetrain::cpu
