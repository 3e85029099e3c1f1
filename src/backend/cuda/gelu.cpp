// The Gaussian error linear unit (Hendrycks and Gimpel, 2016), exact or by a tanh, in f32.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class GeluKernel final : public CudaKernel {
 public:
  GeluKernel(const Gelu& spec, Problem problem)
      : CudaKernel(std::move(problem)), approximate_(spec.tanh) {
    traits_.backward_input_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    gelu(device(a.stream).handle(), floats(a.inputs[0]), floats(a.output),
         problem_.output_elements(), approximate_);
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (a.input_gradients[0])
      gelu_backward(device(a.stream).handle(), floats(a.inputs[0]), floats(a.output_gradient),
                    floats(a.input_gradients[0]), problem_.output_elements(), approximate_);
  }

 private:
  bool approximate_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Gelu& spec, Problem problem) {
  return std::make_unique<GeluKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
