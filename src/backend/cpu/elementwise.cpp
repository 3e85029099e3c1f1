// The elementwise layers, with the functions of vector_loops_functions.inl. Backward reads the
// input.
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kFunctionWork = 8 * kElementWork;

template <class E>
class ElementwiseKernel final : public CpuKernel {
 public:
  ElementwiseKernel(Problem problem, const ElementwiseSpec& spec)
      : CpuKernel(std::move(problem)), spec_(spec) {
    traits_.backward_input_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    ranges([&](const auto& kind, const auto& loop, std::int64_t begin, std::int64_t count) {
      loop.forward(kind, elements<E>(a.inputs[0]) + begin, elements<E>(a.output) + begin, count);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    ranges([&](const auto& kind, const auto& loop, std::int64_t begin, std::int64_t count) {
      loop.backward(kind, elements<E>(a.inputs[0]) + begin, elements<E>(a.output_gradient) + begin,
                    elements<E>(a.input_gradients[0]) + begin, count);
    });
  }

 private:
  template <class Body>
  void ranges(Body body) const {
    const std::int64_t elements = problem_.output_elements();
    std::visit(
        [&]<class Kind>(const Kind& kind) {
          const FunctionLoop<E, Kind>& loop = element_loops<E>().functions;
          parallel_ranges(
              elements, kFunctionWork * elements,
              [&](std::int64_t begin, std::int64_t end) { body(kind, loop, begin, end - begin); });
        },
        spec_);
  }

  ElementwiseSpec spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const ElementwiseSpec& spec, Problem problem) {
  return make_by_element<ElementwiseKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
