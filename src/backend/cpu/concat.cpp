// Concatenates the inputs: images along the channels, others along the last dimension. Whole blocks
// of channels are contiguous; an image that ends within a block is moved value by value.
#include <algorithm>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class ConcatKernel final : public CpuKernel {
 public:
  explicit ConcatKernel(Problem problem) : CpuKernel(std::move(problem)) {
    const std::vector<std::int64_t>& dims = problem_.layer->output.dims;
    runs_ = dims.size() == 2 ? dims[0] : 1;
    for (const ValueLayout& input : problem_.inputs)
      in_whole_runs_ = in_whole_runs_ && input.is_plain() == problem_.output.is_plain() &&
                       input.stored_elements() == input.elements();
  }

  void forward(const ForwardArguments& a) override {
    E* const y = elements<E>(a.output);
    if (problem_.output.stored_elements() != problem_.output.elements())
      std::fill_n(y, problem_.output_elements(), E{});
    each_input(
        [&](std::size_t i, std::int64_t n, std::int64_t from, std::int64_t to, std::int64_t count) {
          const E* const x = elements<E>(a.inputs[i]) + n * problem_.inputs[i].stored_elements();
          std::copy_n(x + from, count, y + n * problem_.output.stored_elements() + to);
        });
  }

  void backward_input(const BackwardInputArguments& a) override {
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i)
      if (a.input_gradients[i] &&
          problem_.inputs[i].stored_elements() != problem_.inputs[i].elements())
        std::fill_n(elements<E>(a.input_gradients[i]),
                    problem_.samples * problem_.inputs[i].stored_elements(), E{});
    each_input([&](std::size_t i, std::int64_t n, std::int64_t from, std::int64_t to,
                   std::int64_t count) {
      if (!a.input_gradients[i]) return;
      const E* const dy = elements<E>(a.output_gradient) + n * problem_.output.stored_elements();
      E* const dx = elements<E>(a.input_gradients[i]);
      std::copy_n(dy + to, count, dx + n * problem_.inputs[i].stored_elements() + from);
    });
  }

 private:
  // Calls visit(input, sample, from, to, count) for each run that is contiguous in both.
  template <class Visit>
  void each_input(Visit visit) const {
    parallel_each(problem_.samples, kElementWork * problem_.output_elements(),
                  [&](std::int64_t n) { each_run_of(n, visit); });
  }
  template <class Visit>
  void each_run_of(std::int64_t n, Visit visit) const {
    std::int64_t before = 0;  // of the preceding inputs, in one run of the output
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      const ValueLayout& input = problem_.inputs[i];
      const std::int64_t run = input.elements() / runs_,
                         output_run = problem_.output.elements() / runs_;
      if (in_whole_runs_)
        for (std::int64_t r = 0; r < runs_; ++r) visit(i, n, r * run, r * output_run + before, run);
      else
        for (std::int64_t e = 0; e < run; ++e)
          visit(i, n, input.position(e), problem_.output.position(before + e), std::int64_t{1});
      before += run;
    }
  }

  std::int64_t runs_;  // rows of a sequence; else 1
  bool in_whole_runs_ = true;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Concat&, Problem problem) {
  return make_by_element<ConcatKernel>(std::move(problem));
}

}  // namespace pipetrain::cpu
