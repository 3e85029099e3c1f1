// A layer that is computed in f32 between values that are stored as bf16.
#pragma once

#include <memory>

#include "backend/cpu/kernel.hpp"

namespace pipetrain::cpu {

// Whether values of the layer are bf16; what the layer is as it is computed then.
bool is_bf16(const Problem& problem);
Problem in_f32(Problem problem);

// A layer of one input around `f32`, the kernel of in_f32(problem).
std::unique_ptr<Kernel> make_widened(Problem problem, std::unique_ptr<Kernel> f32);

}  // namespace pipetrain::cpu
