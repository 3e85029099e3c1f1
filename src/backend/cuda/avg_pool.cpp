// The mean of each window; padding counts as zeros.
#include "backend/cuda/pool_plan.hpp"

namespace pipetrain::cuda {
namespace {

class AvgPoolKernel final : public CudaKernel {
 public:
  AvgPoolKernel(const AvgPool& spec, Problem problem)
      : CudaKernel(std::move(problem)), pooling_(plan_pooling(spec, problem_)) {}

  void forward(const ForwardArguments& a) override {
    avg_pool(device(a.stream).handle(), pooling_, floats(a.inputs[0]), floats(a.output));
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    avg_pool_backward(device(a.stream).handle(), pooling_, floats(a.output_gradient),
                      floats(a.input_gradients[0]));
  }

 private:
  Pooling pooling_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const AvgPool& spec, Problem problem) {
  return std::make_unique<AvgPoolKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
