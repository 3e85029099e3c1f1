// Takes some of a sample's tokens, which have no gradient. They are few: one thread copies them.
#include <algorithm>

#include "backend/cpu/kernel.hpp"

namespace pipetrain::cpu {
namespace {

class NarrowKernel final : public CpuKernel {
 public:
  NarrowKernel(Problem problem, const Narrow& spec) : CpuKernel(std::move(problem)), spec_(spec) {}

  void forward(const ForwardArguments& a) override {
    const auto* tokens = static_cast<const std::int32_t*>(a.inputs[0]) + spec_.start;
    auto* part = static_cast<std::int32_t*>(a.output);
    for (std::int64_t n = 0; n < problem_.samples; ++n)
      std::copy_n(tokens + n * problem_.inputs[0].elements(), spec_.length,
                  part + n * spec_.length);
  }

  void backward_input(const BackwardInputArguments&) override {}

 private:
  Narrow spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Narrow& spec, Problem problem) {
  return std::make_unique<NarrowKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
