// The largest of each window. Training saves which tap of its window won, two bytes per output, so
// that the backward reads neither input nor output.
#include <spdlog/fmt/fmt.h>

#include "backend/cuda/pool_plan.hpp"
#include "base/bytes_of.hpp"
#include "base/error.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cuda {
namespace {

class MaxPoolKernel final : public CudaKernel {
 public:
  MaxPoolKernel(const MaxPool& spec, Problem problem)
      : CudaKernel(std::move(problem)), pooling_(plan_pooling(spec, problem_)) {
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes = bytes_of<PoolTap>(problem_.output_elements());
  }

  void forward(const ForwardArguments& a) override {
    auto* taps = problem_.mode == Mode::Train ? static_cast<PoolTap*>(a.saved) : nullptr;
    max_pool(device(a.stream).handle(), pooling_, floats(a.inputs[0]), floats(a.output), taps);
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    max_pool_backward(device(a.stream).handle(), pooling_, static_cast<const PoolTap*>(a.saved),
                      floats(a.output_gradient), floats(a.input_gradients[0]));
  }

 private:
  Pooling pooling_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const MaxPool& spec, Problem problem) {
  if (spec.kernel[0] * spec.kernel[1] > kPoolTapsMax)
    throw UsageError(
        fmt::format("layer \"{}\": a max_pool window of {} x {} is larger than the cuda backend's "
                    "limit of {} elements; use a smaller kernel, or backend = \"reference\"",
                    problem.layer->name, spec.kernel[0], spec.kernel[1], kPoolTapsMax));
  return std::make_unique<MaxPoolKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
