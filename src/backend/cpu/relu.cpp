// max(x, 0). If the kernel before it has already applied it, the output is the input's memory.
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class ReluKernel final : public CpuKernel {
 public:
  explicit ReluKernel(Problem problem) : CpuKernel(std::move(problem)) {
    traits_.aliases_input = problem_.relu_ahead;
    traits_.aliases_gradient = problem_.mask != Mask::Own;
    traits_.backward_input_reads_output = problem_.mask == Mask::Own;
  }

  void forward(const ForwardArguments& a) override {
    if (traits_.aliases_input) return;
    ranges([&](std::int64_t begin, std::int64_t count) {
      loops_.relu_forward(elements<E>(a.inputs[0]) + begin, elements<E>(a.output) + begin, count);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (traits_.aliases_gradient || !a.input_gradients[0]) return;
    ranges([&](std::int64_t begin, std::int64_t count) {
      loops_.relu_backward(elements<E>(a.output) + begin, elements<E>(a.output_gradient) + begin,
                           elements<E>(a.input_gradients[0]) + begin, count);
    });
  }

 private:
  template <class Body>
  void ranges(Body body) {
    parallel_ranges(problem_.output_elements(), kElementWork * problem_.output_elements(),
                    [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
  }

  const ElementLoops<E>& loops_ = element_loops<E>();
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Relu&, Problem problem) {
  return make_by_element<ReluKernel>(std::move(problem));
}

}  // namespace pipetrain::cpu
