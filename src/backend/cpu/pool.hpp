// What the pools share: a loop over blocks of 16 channels, all of one geometry.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

template <class E>
class PoolKernel : public CpuKernel {
 protected:
  PoolKernel(Problem problem, const Pair& kernel, const Pair& stride, const Pair& padding)
      : CpuKernel(std::move(problem)),
        loop_{.in_height = problem_.inputs[0].height,
              .in_width = problem_.inputs[0].width,
              .out_height = problem_.output.height,
              .out_width = problem_.output.width,
              .kernel = kernel,
              .stride = stride,
              .padding = padding,
              .after_relu = problem_.masks_input} {}

  // Calls body(offset of the block in the input, offset in the output).
  template <class Body>
  void each_block(Body body) const {
    const std::int64_t blocks = problem_.samples * problem_.output.stored_channels() / kLanes;
    const std::int64_t in = problem_.inputs[0].pixels() * kLanes,
                       out = problem_.output.pixels() * kLanes;
    parallel_each(blocks, problem_.input_elements(),
                  [&](std::int64_t b) { body(b * in, b * out); });
  }

  const ElementLoops<E>& loops_ = element_loops<E>();
  PoolLoop loop_;
};

}  // namespace pipetrain::cpu
