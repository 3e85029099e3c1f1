// Convolution by cuDNN; bias, relu and the bias gradient are separate kernels of our own over the
// output.
#include <algorithm>

#include "backend/cuda/convolution.hpp"
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/kernel.hpp"
#include "backend/cuda/workspace.hpp"
#include "base/check.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cuda {
namespace {

const ConvolutionAlgorithms& algorithms_of(const Problem& problem) {
  PIPETRAIN_CHECK(problem.convolutions, "layer {} was lowered by no backend", problem.layer->name);
  return *problem.convolutions;
}

class Conv2dKernel final : public CudaKernel {
 public:
  Conv2dKernel(const Conv2d& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        bias_(spec.bias),
        planes_{problem_.samples, problem_.output.dims[0],
                problem_.output.dims[1] * problem_.output.dims[2]},
        descriptors_(layer(), plan_convolution(spec, problem_)),
        forward_(algorithms_of(problem_).forward(layer(), descriptors_)) {
    std::size_t workspace = forward_.workspace_bytes;
    if (problem_.mode == Mode::Train) {
      input_gradient_ = problem_.convolutions->backward_data(layer(), descriptors_);
      weight_gradient_ = problem_.convolutions->backward_filter(layer(), descriptors_);
      workspace =
          std::max({workspace, input_gradient_.workspace_bytes, weight_gradient_.workspace_bytes});
    }
    traits_.backward_weight_reads_inputs = true;
    traits_.scratch_bytes = scratch_for_workspace(workspace);
  }

  void forward(const ForwardArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const float alpha = 1, beta = 0;
    check(cudnnConvolutionForward(
              stream.cudnn(), &alpha, descriptors_.input.get(), a.inputs[0],
              descriptors_.filter.get(), a.weights.parameters[0], descriptors_.product.get(),
              forward_.algorithm, workspace_in(a.scratch, forward_.workspace_bytes),
              forward_.workspace_bytes, &beta, descriptors_.output.get(), a.output),
          layer(), "do its forward");
    if (bias_)
      add_bias(stream.handle(), floats(a.output), floats(a.weights.parameters[1]), planes_,
               problem_.with_relu);
    else if (problem_.with_relu)
      apply_relu(stream.handle(), floats(a.output), problem_.output_elements());
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float alpha = 1, beta = 0;
    check(
        cudnnConvolutionBackwardData(
            device(a.stream).cudnn(), &alpha, descriptors_.filter.get(), a.weights.parameters[0],
            descriptors_.output.get(), a.output_gradient, descriptors_.product.get(),
            input_gradient_.algorithm, workspace_in(a.scratch, input_gradient_.workspace_bytes),
            input_gradient_.workspace_bytes, &beta, descriptors_.input.get(), a.input_gradients[0]),
        layer(), "do its input gradient");
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const float alpha = 1, beta = a.accumulate ? 1 : 0;
    check(cudnnConvolutionBackwardFilter(
              stream.cudnn(), &alpha, descriptors_.input.get(), a.inputs[0],
              descriptors_.output.get(), a.output_gradient, descriptors_.product.get(),
              weight_gradient_.algorithm, workspace_in(a.scratch, weight_gradient_.workspace_bytes),
              weight_gradient_.workspace_bytes, &beta, descriptors_.filter.get(), a.gradients[0]),
          layer(), "do its weight gradient");
    if (bias_)
      channel_sums({stream.handle(), stream.partial_sums()}, floats(a.output_gradient),
                   planes_.samples, planes_.channels, planes_.inner, floats(a.gradients[1]),
                   a.accumulate);
  }

 private:
  const std::string& layer() const { return problem_.layer->name; }

  bool bias_;
  Planes planes_;  // of the output
  ConvolutionDescriptors descriptors_;
  ConvolutionAlgorithms::Forward forward_;
  ConvolutionAlgorithms::BackwardData input_gradient_;
  ConvolutionAlgorithms::BackwardFilter weight_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Conv2d& spec, Problem problem) {
  return std::make_unique<Conv2dKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
