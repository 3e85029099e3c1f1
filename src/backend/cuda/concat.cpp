// Concatenates the inputs: images along the channels, others along the last dimension. Each input
// is a block of the output, seen as a matrix with one row per contiguous run.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class ConcatKernel final : public CudaKernel {
 public:
  explicit ConcatKernel(Problem problem) : CudaKernel(std::move(problem)) {
    traits_.aliases_input = traits_.aliases_gradient = problem_.inputs.size() == 1;
  }

  void forward(const ForwardArguments& a) override {
    if (traits_.aliases_input) return;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      copy_block(device(a.stream).handle(), {floats(a.inputs[i]), run(i)},
                 {floats(a.output) + before, run()}, rows(), run(i));
      before += run(i);
    }
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (traits_.aliases_gradient) return;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      if (a.input_gradients[i])
        copy_block(device(a.stream).handle(), {floats(a.output_gradient) + before, run()},
                   {floats(a.input_gradients[i]), run(i)}, rows(), run(i));
      before += run(i);
    }
  }

 private:
  static std::int64_t run_of(const Shape& shape) {
    return shape.dims.size() == 3 ? shape.elements() : shape.dims.back();
  }
  std::int64_t run() const { return run_of(problem_.output); }
  std::int64_t run(std::size_t input) const { return run_of(problem_.inputs[input]); }
  std::int64_t rows() const { return problem_.output_elements() / run(); }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Concat&, Problem problem) {
  return std::make_unique<ConcatKernel>(std::move(problem));
}

}  // namespace pipetrain::cuda
