// The elementwise layers, with the functions of device/elementwise_functions.cu, in f32. Backward
// reads the input.
#include "backend/cuda/device/elementwise_functions.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class ElementwiseKernel final : public CudaKernel {
 public:
  ElementwiseKernel(const ElementwiseSpec& spec, Problem problem)
      : CudaKernel(std::move(problem)), spec_(spec) {
    traits_.backward_input_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    apply_function(device(a.stream).handle(), spec_, floats(a.inputs[0]), floats(a.output),
                   problem_.output_elements());
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (a.input_gradients[0])
      apply_slope(device(a.stream).handle(), spec_, floats(a.inputs[0]), floats(a.output_gradient),
                  floats(a.input_gradients[0]), problem_.output_elements());
  }

 private:
  ElementwiseSpec spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const ElementwiseSpec& spec, Problem problem) {
  return std::make_unique<ElementwiseKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
