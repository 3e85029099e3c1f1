// The mean of each channel: [C, H, W] -> [C, 1, 1].
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class GlobalAvgPoolKernel final : public CudaKernel {
 public:
  explicit GlobalAvgPoolKernel(Problem problem)
      : CudaKernel(std::move(problem)),
        images_(problem_.output_elements()),
        pixels_(problem_.input_elements() / images_) {}

  void forward(const ForwardArguments& a) override {
    row_means(device(a.stream).handle(), floats(a.inputs[0]), images_, pixels_, floats(a.output));
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (a.input_gradients[0])
      spread(device(a.stream).handle(), floats(a.output_gradient), images_, pixels_,
             floats(a.input_gradients[0]));
  }

 private:
  std::int64_t images_, pixels_;  // images: one per sample and channel; pixels: per image
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const GlobalAvgPool&, Problem problem) {
  return std::make_unique<GlobalAvgPoolKernel>(std::move(problem));
}

}  // namespace pipetrain::cuda
