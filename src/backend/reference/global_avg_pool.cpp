// The mean of each channel: [C, H, W] -> [C, 1, 1].
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class GlobalAvgPoolKernel final : public ReferenceKernel {
 public:
  explicit GlobalAvgPoolKernel(Problem problem)
      : ReferenceKernel(std::move(problem)),
        pixels_(problem_.input_elements() / problem_.output_elements()) {}

  void forward(const ForwardArguments& a) override {
    const float* x = floats(a.inputs[0]);
    for (std::int64_t plane = 0; plane < problem_.output_elements(); ++plane) {
      double sum = 0;
      for (std::int64_t i = 0; i < pixels_; ++i) sum += x[plane * pixels_ + i];
      floats(a.output)[plane] = static_cast<float>(sum / static_cast<double>(pixels_));
    }
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    for (std::int64_t i = 0; i < problem_.input_elements(); ++i)
      floats(a.input_gradients[0])[i] =
          floats(a.output_gradient)[i / pixels_] / static_cast<float>(pixels_);
  }

 private:
  std::int64_t pixels_;  // per channel
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const GlobalAvgPool&, Problem problem) {
  return std::make_unique<GlobalAvgPoolKernel>(std::move(problem));
}

}  // namespace pipetrain::reference
