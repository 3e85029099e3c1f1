// The weight gradient of a convolution of images of few pixels, by our own loops.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

// `threads`: at most, and the same in both.
std::size_t small_images_scratch_bytes(const Problem& problem, int threads);
void small_images_backward_weight(const Conv2d& spec, const Problem& problem,
                                  const BackwardWeightArguments& arguments, int threads);

}  // namespace pipetrain::cpu
