// For which convolutions Winograd F(2x2, 3x3), minimal filtering, pays (Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks, 2016): 16 multiplications for a tile of 2 x 2
// outputs, where a direct 3 x 3 convolution takes 36. Decides which kernels are chosen
// (winograd.hpp) and what they are estimated to cost (costs.hpp).
#pragma once

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"

namespace pipetrain::cpu {

// The least number of channels at which the transforms pay; multiples of it fill whole tiles.
constexpr std::int64_t kFilteredChannels = 64;

// `channels`: of the input; `output`: [C, H, W]. With 2 x 2 images most taps of a direct
// convolution fall on the padding, so there is nothing to save.
constexpr bool suits_winograd(const Conv2d& spec, std::int64_t channels, const Shape& output) {
  constexpr std::int64_t kLeastPixels = 16;
  const std::int64_t height = output.dims[1], width = output.dims[2];
  return spec.groups == 1 && spec.kernel == Pair{3, 3} && spec.stride == Pair{1, 1} &&
         spec.padding == Pair{1, 1} && channels % kFilteredChannels == 0 &&
         spec.out_channels % kFilteredChannels == 0 && height % 2 == 0 && width % 2 == 0 &&
         height * width >= kLeastPixels;
}

}  // namespace pipetrain::cpu
