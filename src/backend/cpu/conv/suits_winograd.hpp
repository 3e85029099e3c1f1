// Which convolutions Winograd F(2x2, 3x3), minimal filtering, pays for (Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks, 2016): 16 products for a tile of 2 x 2 outputs,
// where a direct convolution of 3 x 3 takes 36. Kernels are chosen by it (winograd.hpp), and
// estimates of costs (costs.hpp).
#pragma once

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"

namespace pipetrain::cpu {

// Transforms are worth their time from this many channels on, whose multiples fill whole tiles.
constexpr std::int64_t kFilteredChannels = 64;

// `channels`: of the input; `output`: [C, H, W]. Of images of 2 x 2 most taps of a direct
// convolution are on the padding, and nothing is to be saved.
constexpr bool suits_winograd(const Conv2d& spec, std::int64_t channels, const Shape& output) {
  constexpr std::int64_t kLeastPixels = 16;
  const std::int64_t height = output.dims[1], width = output.dims[2];
  return spec.groups == 1 && spec.kernel == Pair{3, 3} && spec.stride == Pair{1, 1} &&
         spec.padding == Pair{1, 1} && channels % kFilteredChannels == 0 &&
         spec.out_channels % kFilteredChannels == 0 && height % 2 == 0 && width % 2 == 0 &&
         height * width >= kLeastPixels;
}

}  // namespace pipetrain::cpu
