// Averages over windows: avg_pool, and global_avg_pool with one window.
#pragma once

#include "backend/cpu/pool.hpp"

namespace pipetrain::cpu {

class AvgPoolKernel final : public PoolKernel {
 public:
  AvgPoolKernel(const AvgPool& spec, Problem problem)
      : PoolKernel(spec.kernel, spec.stride, spec.padding, std::move(problem)) {}
  void forward(const ForwardArguments& a) override;
  void backward_input(const BackwardInputArguments& a) override;
};

}  // namespace pipetrain::cpu
