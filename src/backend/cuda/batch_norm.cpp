// Batch normalisation per channel (Ioffe and Szegedy, 2015). Statistics and gradient sums are f64;
// each half of the backward computes its own sums, so neither needs the other. If a relu alone
// reads the output, this kernel does its forward; the relu does its own backward.
#include "backend/cuda/device/batch_norm.hpp"

#include <algorithm>

#include "backend/cuda/kernel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

class BatchNormKernel final : public CudaKernel {
 public:
  BatchNormKernel(const BatchNorm& spec, Problem problem)
      : CudaKernel(std::move(problem)), spec_(spec) {
    const std::int64_t channels = problem_.output.dims[0];
    planes_ = {problem_.samples, channels, problem_.output.elements() / channels};
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Train) {
      traits_.saved_bytes = channel_bytes();
      traits_.scratch_bytes = partials_bytes(planes_) + channel_bytes();
    } else {
      traits_.scratch_bytes = channel_bytes();
    }
  }

  void forward(const ForwardArguments& a) override {
    const cudaStream_t stream = device(a.stream).handle();
    auto* const statistics =
        static_cast<Statistics*>(problem_.mode == Mode::Train ? a.saved : a.scratch);
    const RunningStatistics running{floats(a.buffers[0]), floats(a.buffers[1])};
    if (problem_.mode == Mode::Train)
      measure(stream, {.planes = planes_,
                       .x = floats(a.inputs[0]),
                       .eps = spec_.eps,
                       .momentum = a.again ? 0 : spec_.momentum,
                       .running = running,
                       .partials = a.scratch,
                       .statistics = statistics});
    else
      recall(stream, running, planes_.channels, spec_.eps, statistics);
    normalise(stream, {.planes = planes_,
                       .x = floats(a.inputs[0]),
                       .statistics = statistics,
                       .gamma = floats(a.weights.parameters[0]),
                       .beta = floats(a.weights.parameters[1]),
                       .with_relu = problem_.with_relu,
                       .y = floats(a.output)});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    auto* const sums = reinterpret_cast<GradientSums*>(static_cast<std::byte*>(a.scratch) +
                                                       partials_bytes(planes_));
    input_gradient(device(a.stream).handle(),
                   gradient_input(a.inputs[0], a.output_gradient, a.saved, a.scratch),
                   floats(a.weights.parameters[0]), sums, floats(a.input_gradients[0]));
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    parameter_gradients(device(a.stream).handle(),
                        gradient_input(a.inputs[0], a.output_gradient, a.saved, a.scratch),
                        floats(a.gradients[0]), floats(a.gradients[1]), a.accumulate);
  }

 private:
  // Bytes for the statistics of all channels, or for their gradient sums.
  std::size_t channel_bytes() const {
    static_assert(sizeof(Statistics) == sizeof(GradientSums));
    return bytes_of<Statistics>(planes_.channels);
  }

  GradientInput gradient_input(const void* x, const void* dy, const void* saved,
                               void* scratch) const {
    return {.planes = planes_,
            .x = floats(x),
            .dy = floats(dy),
            .statistics = static_cast<const Statistics*>(saved),
            .partials = scratch};
  }

  BatchNorm spec_;
  Planes planes_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const BatchNorm& spec, Problem problem) {
  return std::make_unique<BatchNormKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
