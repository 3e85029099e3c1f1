// The largest of each window. Training saves which tap of its window won, one byte per output, so
// that the backward reads neither input nor output. After a relu it also does the relu's backward:
// a window whose largest value is 0 passes on no gradient.
#include <spdlog/fmt/fmt.h>

#include "backend/cpu/pool.hpp"
#include "base/error.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kTapsMax = 255;  // number 255 means that no tap won

template <class E>
class MaxPoolKernel final : public PoolKernel<E> {
 public:
  MaxPoolKernel(Problem problem, const MaxPool& spec)
      : PoolKernel<E>(std::move(problem), spec.kernel, spec.stride, spec.padding) {
    if (this->problem_.mode == Mode::Train)
      this->traits_.saved_bytes = static_cast<std::size_t>(this->problem_.output_elements());
  }

  void forward(const ForwardArguments& a) override {
    std::uint8_t* taps = this->problem_.mode == Mode::Train ? bytes(a.saved) : nullptr;
    this->each_block([&](std::int64_t in, std::int64_t out) {
      this->loops_.max_pool(this->loop_, elements<E>(a.inputs[0]) + in, elements<E>(a.output) + out,
                            taps ? taps + out : nullptr);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    this->each_block([&](std::int64_t in, std::int64_t out) {
      this->loops_.max_pool_backward(this->loop_, bytes(a.saved) + out,
                                     elements<E>(a.output_gradient) + out,
                                     elements<E>(a.input_gradients[0]) + in);
    });
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const MaxPool& spec, Problem problem) {
  if (spec.kernel[0] * spec.kernel[1] > kTapsMax)
    throw UsageError(
        fmt::format("layer \"{}\": a max_pool window of {} x {} is larger than the cpu backend's "
                    "limit of {} elements; use a smaller kernel, or backend = \"reference\"",
                    problem.layer->name, spec.kernel[0], spec.kernel[1], kTapsMax));
  return make_by_element<MaxPoolKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
