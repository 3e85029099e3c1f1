// max(x, 0). If the kernel before it has already applied it, the output is the input's memory. The
// gradient passes where the output is positive.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class ReluKernel final : public CudaKernel {
 public:
  explicit ReluKernel(Problem problem) : CudaKernel(std::move(problem)) {
    traits_.aliases_input = problem_.relu_ahead;
    traits_.backward_input_reads_output = true;
  }

  void forward(const ForwardArguments& a) override {
    if (!traits_.aliases_input)
      relu(device(a.stream).handle(), floats(a.inputs[0]), floats(a.output),
           problem_.output_elements());
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (a.input_gradients[0])
      relu_backward(device(a.stream).handle(), floats(a.output), floats(a.output_gradient),
                    floats(a.input_gradients[0]), problem_.output_elements());
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Relu&, Problem problem) {
  return std::make_unique<ReluKernel>(std::move(problem));
}

}  // namespace pipetrain::cuda
