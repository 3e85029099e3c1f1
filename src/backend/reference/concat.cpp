// Concatenates the inputs: images along the channels, others along the last dimension.
#include <algorithm>

#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class ConcatKernel final : public ReferenceKernel {
 public:
  explicit ConcatKernel(Problem problem)
      : ReferenceKernel(std::move(problem)), run_(run_of(problem_.output)) {}

  void forward(const ForwardArguments& a) override {
    for_each_run([&](std::size_t input, std::int64_t from, std::int64_t to, std::int64_t count) {
      std::copy_n(floats(a.inputs[input]) + from, count, floats(a.output) + to);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    for_each_run([&](std::size_t input, std::int64_t from, std::int64_t to, std::int64_t count) {
      if (!a.input_gradients[input]) return;
      std::copy_n(floats(a.output_gradient) + to, count, floats(a.input_gradients[input]) + from);
    });
  }

 private:
  // How much of a value is contiguous before the next input follows: a whole image, or a row.
  static std::int64_t run_of(const Shape& shape) {
    return shape.dims.size() == 3 ? shape.elements() : shape.dims.back();
  }

  template <class Visit>
  void for_each_run(Visit visit) const {
    std::int64_t before = 0;  // of the preceding inputs, in one run of the output
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      const std::int64_t run = run_of(problem_.inputs[i]);
      for (std::int64_t r = 0; r < problem_.output_elements() / run_; ++r)
        visit(i, r * run, r * run_ + before, run);
      before += run;
    }
  }

  std::int64_t run_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Concat&, Problem problem) {
  return std::make_unique<ConcatKernel>(std::move(problem));
}

}  // namespace pipetrain::reference
