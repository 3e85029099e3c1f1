// Takes some of a sample's tokens, which have no gradient: a block of a matrix of four-byte
// elements, with one row per sample.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class NarrowKernel final : public CudaKernel {
 public:
  NarrowKernel(Problem problem, const Narrow& spec) : CudaKernel(std::move(problem)), spec_(spec) {}

  void forward(const ForwardArguments& a) override {
    copy_block(device(a.stream).handle(),
               {floats(a.inputs[0]) + spec_.start, problem_.inputs[0].elements()},
               {floats(a.output), spec_.length}, problem_.samples, spec_.length);
  }

  void backward_input(const BackwardInputArguments&) override {}

 private:
  Narrow spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Narrow& spec, Problem problem) {
  return std::make_unique<NarrowKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cuda
