// How a convolution's operands are laid out, in oneDNN's terms. Weights are in blocks as wide as a
// vector of its kernels: 16 with AVX-512, else 8. Channels are counted in whole blocks of weights,
// zero-padded: the library never sees a ragged one. Images are always in blocks of 16.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

struct ConvLayout {
  enum class Kind {
    Plain,      // reads the graph's input as it is: weights [O/b][kh][kw][C][b o]
    Depthwise,  // one channel per group: weights [G/b][kh][kw][b g]
    Blocked,    // weights [g][O/b][C/b][kh][kw][b c][b o]
  };
  Kind kind = Kind::Blocked;
  std::int64_t block = 16;
  std::int64_t channels = 0, outputs = 0;  // rounded up to whole blocks
  // Neighbouring groups are merged until a group fills whole blocks. The weights of a merged group
  // are block diagonal, and everything off the diagonal is always zero.
  std::int64_t groups = 1;
  bool merged = false;
  std::int64_t weight_elements = 0;
  bool multiplies_bf16 = false;  // only with kind Blocked and one group

  dnnl::memory::desc input, output, bias;  // kernels may want other layouts (conv_calls.hpp)
  dnnl::memory::desc weights;              // f32: of the parameter and its gradient
  dnnl::memory::desc read_weights;         // as the forward reads them: the same, or a packed copy
  dnnl::memory::desc packed_weights;       // as the input gradient reads them
};

ConvLayout conv_layout(const Conv2d& spec, const Problem& problem);

// A block has only a few channels in use, and our own loops do the forward and the weight gradient.
bool has_few_channels(const Conv2d& spec, const Problem& problem);
// Our own loops do the weight gradient (small_images.hpp).
bool has_small_images(const Conv2d& spec, const Problem& problem);

}  // namespace pipetrain::cpu
