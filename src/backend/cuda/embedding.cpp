// Rows of a table, by token: y[t] = scale weight[token[t]], weight [V, C]. Tokens have no gradient.
#include "backend/cuda/device/embedding.hpp"

#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class EmbeddingKernel final : public CudaKernel {
 public:
  EmbeddingKernel(const Embedding& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        columns_(spec.embedding_dim),
        scale_(static_cast<float>(spec.scale)) {
    traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Train)
      traits_.scratch_bytes = embedding_places_bytes(tokens(nullptr));
  }

  void forward(const ForwardArguments& a) override {
    embed(device(a.stream).handle(), tokens(a.inputs[0]),
          {floats(a.weights.parameters[0]), columns_, scale_}, floats(a.output));
  }

  void backward_input(const BackwardInputArguments&) override {}

  void backward_weight(const BackwardWeightArguments& a) override {
    embedding_gradient(device(a.stream).handle(), tokens(a.inputs[0]), a.scratch,
                       {.dy = floats(a.output_gradient),
                        .columns = columns_,
                        .scale = scale_,
                        .gradient = floats(a.gradients[0]),
                        .accumulate = a.accumulate});
  }

 private:
  Tokens tokens(const void* memory) const {
    return {.count = problem_.input_elements(),
            .vocabulary = problem_.inputs[0].vocabulary,
            .tokens = static_cast<const std::int32_t*>(memory)};
  }

  std::int64_t columns_;
  float scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Embedding& spec, Problem problem) {
  return std::make_unique<EmbeddingKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
