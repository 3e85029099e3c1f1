// The three calls of a convolution, in the layouts for which oneDNN's kernels are fast on this
// machine. With AVX-512 these are the layouts of the operands. Without it, oneDNN has no kernels
// for blocks of 16 channels: images are converted on the way to blocks of 8, or to whatever the
// library proposes.
#pragma once

#include "backend/cpu/conv/conv_layout.hpp"
#include "backend/cpu/converted_call.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

class ConvCallMaker {
 public:
  ConvCallMaker(const Conv2d& spec, const Problem& problem, const ConvLayout& layout);

  // Operands: image, weights, output and, except for the input gradient, the bias if there is one.
  // What a backward writes is the gradient in the operand's place.
  ConvertedCall forward() const;
  ConvertedCall backward_input() const;
  ConvertedCall backward_weight() const;

 private:
  const ConvLayout& layout_;
  bool with_relu_;
  dnnl::memory::dims stride_, padding_;
  dnnl::memory::desc bias_;  // zero if there is none
  dnnl::convolution_forward::primitive_desc forward_;
};

}  // namespace pipetrain::cpu
