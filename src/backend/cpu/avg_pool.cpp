// The mean of each window; what lies in the padding counts as zeros.
#include "backend/cpu/avg_pool.hpp"

namespace pipetrain::cpu {

void AvgPoolKernel::forward(const ForwardArguments& a) {
  each_block([&](std::int64_t in, std::int64_t out) {
    loops_.avg_pool(loop_, floats(a.inputs[0]) + in, floats(a.output) + out);
  });
}

void AvgPoolKernel::backward_input(const BackwardInputArguments& a) {
  if (!a.input_gradients[0]) return;
  each_block([&](std::int64_t in, std::int64_t out) {
    loops_.avg_pool_backward(loop_, floats(a.output_gradient) + out,
                             floats(a.input_gradients[0]) + in);
  });
}

std::unique_ptr<Kernel> make_kernel(const AvgPool& spec, Problem problem) {
  return std::make_unique<AvgPoolKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cpu
