// Multi-head attention (Vaswani et al. 2017, section 3.2) in f32. The forward keeps two numbers of
// each row of scores and no score: the backward makes them again, once for the gradients of the
// queries and once for those of keys and values.
#include "backend/cuda/attention.hpp"

#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class AttentionKernel final : public CudaKernel {
 public:
  AttentionKernel(const Attention& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        sizes_{.samples = problem_.samples,
               .length = problem_.output.dims[0],
               .heads = spec.heads,
               .width = problem_.output.dims[1] / spec.heads,
               .causal = spec.causal} {
    traits_.backward_input_reads_inputs = traits_.backward_input_reads_output = true;
    if (problem_.mode == Mode::Evaluate) return;
    const auto rows = static_cast<std::size_t>(sizes_.rows());
    traits_.saved_bytes = rows * sizeof(SoftmaxRow);
    traits_.scratch_bytes = rows * sizeof(float);
  }

  void forward(const ForwardArguments& a) override {
    const bool trains = problem_.mode == Mode::Train;
    attention(device(a.stream).handle(), sizes_, floats(a.inputs[0]),
              trains ? static_cast<SoftmaxRow*>(a.saved) : nullptr, floats(a.output));
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    attention_backward(device(a.stream).handle(),
                       {.of = sizes_,
                        .qkv = floats(a.inputs[0]),
                        .y = floats(a.output),
                        .dy = floats(a.output_gradient),
                        .softmax = static_cast<const SoftmaxRow*>(a.saved),
                        .products = floats(a.scratch)},
                       floats(a.input_gradients[0]));
  }

 private:
  AttentionSizes sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Attention& spec, Problem problem) {
  return std::make_unique<AttentionKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
