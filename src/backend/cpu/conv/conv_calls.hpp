// The three calls of a convolution, in the layouts that oneDNN's kernels are fast with here. With
// AVX-512 these are the layouts that operands are in. Without it, kernels know no blocks of 16
// channels: images become blocks of 8, or whatever the library proposes, on their way.
#pragma once

#include "backend/cpu/conv/conv_layout.hpp"
#include "backend/cpu/converted_call.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

class ConvCallMaker {
 public:
  ConvCallMaker(const Conv2d& spec, const Problem& problem, const ConvLayout& layout);

  // Operands: image, weights, output and, but for the input gradient, the bias where there is one.
  // "Their gradients" for what a backward pass writes.
  ConvertedCall forward() const;
  ConvertedCall backward_input() const;
  ConvertedCall backward_weight() const;

 private:
  const ConvLayout& layout_;
  bool with_relu_;
  dnnl::memory::dims stride_, padding_;
  dnnl::memory::desc bias_;  // zero where there is none
  dnnl::convolution_forward::primitive_desc forward_;
};

}  // namespace pipetrain::cpu
