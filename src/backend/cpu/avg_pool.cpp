// The mean of each window; padding counts as zeros.
#include "backend/cpu/avg_pool.hpp"

#include "backend/cpu/pool.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class AvgPoolKernel final : public PoolKernel<E> {
 public:
  AvgPoolKernel(Problem problem, const AvgPool& spec)
      : PoolKernel<E>(std::move(problem), spec.kernel, spec.stride, spec.padding) {}

  void forward(const ForwardArguments& a) override {
    this->each_block([&](std::int64_t in, std::int64_t out) {
      this->loops_.avg_pool(this->loop_, elements<E>(a.inputs[0]) + in,
                            elements<E>(a.output) + out);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    this->each_block([&](std::int64_t in, std::int64_t out) {
      this->loops_.avg_pool_backward(this->loop_, elements<E>(a.output_gradient) + out,
                                     elements<E>(a.input_gradients[0]) + in);
    });
  }
};

}  // namespace

std::unique_ptr<Kernel> make_avg_pool(const AvgPool& spec, Problem problem) {
  return make_by_element<AvgPoolKernel>(std::move(problem), spec);
}

std::unique_ptr<Kernel> make_kernel(const AvgPool& spec, Problem problem) {
  return make_avg_pool(spec, std::move(problem));
}

}  // namespace pipetrain::cpu
