// Zeroes elements with probability p and scales the others by 1 / (1 - p). The backward draws the
// mask again, so nothing is saved.
#include "backend/cuda/device/dropout.hpp"

#include "backend/cuda/identity.hpp"
#include "backend/dropout_mask.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cuda {
namespace {

class DropoutKernel final : public CudaKernel {
 public:
  DropoutKernel(const Dropout& spec, Problem problem)
      : CudaKernel(std::move(problem)), p_(spec.p) {}

  void forward(const ForwardArguments& a) override {
    apply(a.stream, a.random, floats(a.inputs[0]), floats(a.output));
  }
  void backward_input(const BackwardInputArguments& a) override {
    if (a.input_gradients[0])
      apply(a.stream, a.random, floats(a.output_gradient), floats(a.input_gradients[0]));
  }

 private:
  void apply(Stream* stream, const RandomKey& random, const float* from, float* to) const {
    const auto [key, stream_of_key, dropped_below, scale] =
        DropoutMask(p_, problem_.layer->name, random).parts();
    drop(device(stream).handle(), {key, stream_of_key, dropped_below, scale}, from, to,
         problem_.output_elements());
  }

  double p_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Dropout& spec, Problem problem) {
  if (problem.mode == Mode::Evaluate || spec.p == 0) return make_alias(std::move(problem));
  return std::make_unique<DropoutKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
