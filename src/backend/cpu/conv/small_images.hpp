// The weight gradient of a convolution of images with few pixels, by our own loops.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

// `threads`: at most this many; pass the same number to both functions.
std::size_t small_images_scratch_bytes(const Problem& problem, int threads);
void small_images_backward_weight(const Conv2d& spec, const Problem& problem,
                                  const BackwardWeightArguments& arguments, int threads);

}  // namespace pipetrain::cpu
