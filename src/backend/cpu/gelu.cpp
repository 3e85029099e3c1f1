// x Phi(x), exact or with Phi by a tanh. Backward reads the input.
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kGeluWork = 8 * kElementWork;

template <class E>
class GeluKernel final : public CpuKernel {
 public:
  GeluKernel(Problem problem, const Gelu& spec)
      : CpuKernel(std::move(problem)), by_tanh_(spec.tanh) {
    traits_.backward_input_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    ranges([&](std::int64_t begin, std::int64_t count) {
      loops_.gelu(elements<E>(a.inputs[0]) + begin, elements<E>(a.output) + begin, count, by_tanh_);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    ranges([&](std::int64_t begin, std::int64_t count) {
      loops_.gelu_backward(elements<E>(a.inputs[0]) + begin, elements<E>(a.output_gradient) + begin,
                           elements<E>(a.input_gradients[0]) + begin, count, by_tanh_);
    });
  }

 private:
  template <class Body>
  void ranges(Body body) const {
    const std::int64_t count = problem_.output_elements();
    parallel_ranges(count, kGeluWork * count,
                    [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  bool by_tanh_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Gelu& spec, Problem problem) {
  return make_by_element<GeluKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
