// Multi-head attention (Vaswani et al. 2017, section 3.2) in f32. Forward keeps two numbers per row
// of scores, and no scores: backward computes the scores again, once for the gradients of the
// queries and once for those of keys and values.
#include "backend/cuda/device/attention.hpp"

#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

// The number of inputs before the tokens.
std::size_t values_of(const Attention& spec, const Problem& problem) {
  return problem.inputs.size() - (spec.padding >= 0);
}

class AttentionKernel final : public CudaKernel {
 public:
  AttentionKernel(const Attention& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        sizes_{.samples = problem_.samples,
               .queries = problem_.output.dims[0],
               .keys = problem_.inputs[values_of(spec, problem_) - 1].dims[0],
               .heads = spec.heads,
               .width = problem_.output.dims[1] / spec.heads,
               .causal = spec.causal,
               .padding = static_cast<std::int32_t>(spec.padding)} {
    traits_.backward_input_reads_inputs = traits_.backward_input_reads_output = true;
    if (problem_.mode == Mode::Evaluate) return;
    const auto rows = static_cast<std::size_t>(sizes_.rows());
    traits_.saved_bytes = rows * sizeof(SoftmaxRow);
    traits_.scratch_bytes = rows * sizeof(float);
  }

  void forward(const ForwardArguments& a) override {
    const bool trains = problem_.mode == Mode::Train;
    attention(device(a.stream).handle(), sizes(a.inputs), rows<const float>(a.inputs),
              trains ? static_cast<SoftmaxRow*>(a.saved) : nullptr, floats(a.output));
  }

  void backward_input(const BackwardInputArguments& a) override {
    attention_backward(device(a.stream).handle(),
                       {.of = sizes(a.inputs),
                        .in = rows<const float>(a.inputs),
                        .y = floats(a.output),
                        .dy = floats(a.output_gradient),
                        .softmax = static_cast<const SoftmaxRow*>(a.saved),
                        .products = floats(a.scratch)},
                       rows<float>(a.input_gradients));
  }

 private:
  AttentionSizes sizes(std::span<const void* const> inputs) const {
    AttentionSizes of = sizes_;
    if (of.padding >= 0) of.tokens = static_cast<const std::int32_t*>(inputs.back());
    return of;
  }

  // The rows of queries, keys and values in the layer's inputs, or in their gradients, which may be
  // null.
  template <class Value, class Memory>
  AttentionRows<Value> rows(std::span<Memory* const> values) const {
    const std::int64_t width = sizes_.columns();
    const bool packed = values.size() - (sizes_.padding >= 0) == 1;
    const auto part = [&](std::size_t value, std::int64_t column) -> Value* {
      auto* const all = static_cast<Value*>(values[value]);
      return all ? all + column : nullptr;
    };
    if (packed) return {part(0, 0), part(0, width), part(0, 2 * width), 3 * width, 3 * width};
    return {part(0, 0), part(1, 0), part(1, width), width, 2 * width};
  }

  AttentionSizes sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Attention& spec, Problem problem) {
  return std::make_unique<AttentionKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
