// The sum of any number of values, in their order, with a ReLU if one alone reads it.
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class AddKernel final : public CpuKernel {
 public:
  explicit AddKernel(Problem problem) : CpuKernel(std::move(problem)) {
    traits_.aliases_gradient = true;
    traits_.aliases_input = problem_.inputs.size() == 1 && !problem_.with_relu;
  }

  void forward(const ForwardArguments& a) override {
    if (traits_.aliases_input) return;
    const std::int64_t elements = problem_.output_elements();
    parallel_ranges(elements, kElementWork * elements, [&](std::int64_t begin, std::int64_t end) {
      sum_range(a, begin, end - begin);
    });
  }

  void backward_input(const BackwardInputArguments&) override {}

 private:
  void sum_range(const ForwardArguments& a, std::int64_t begin, std::int64_t count) const {
    E* sum = elements<E>(a.output) + begin;
    const E* so_far = elements<E>(a.inputs[0]) + begin;
    if (a.inputs.size() == 1) loops_.relu_forward(so_far, sum, count);
    for (std::size_t i = 1; i < a.inputs.size(); ++i, so_far = sum)
      loops_.add(so_far, elements<E>(a.inputs[i]) + begin, sum, count,
                 problem_.with_relu && i + 1 == a.inputs.size());
  }

  const ElementLoops<E>& loops_ = element_loops<E>();
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Add&, Problem problem) {
  return make_by_element<AddKernel>(std::move(problem));
}

}  // namespace pipetrain::cpu
