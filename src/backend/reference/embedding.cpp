// Rows of a table, by token: y[t] = scale weight[token[t]], weight [V, C]. Tokens have no gradient.
// Readers let no token outside the table through, so one that arrives here is our mistake.
#include <algorithm>

#include "backend/reference/kernel.hpp"
#include "base/check.hpp"

namespace pipetrain::reference {
namespace {

class EmbeddingKernel final : public ReferenceKernel {
 public:
  EmbeddingKernel(const Embedding& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        vocabulary_(problem_.inputs[0].vocabulary),
        width_(spec.embedding_dim),
        scale_(static_cast<float>(spec.scale)) {
    traits_.backward_weight_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    const float* weight = floats(a.weights.parameters[0]);
    float* y = floats(a.output);
    for (std::int64_t i = 0; i < problem_.input_elements(); ++i)
      for (std::int64_t c = 0; c < width_; ++c)
        y[i * width_ + c] = scale_ * weight[token(a.inputs[0], i) * width_ + c];
  }

  void backward_input(const BackwardInputArguments&) override {}

  void backward_weight(const BackwardWeightArguments& a) override {
    float* gradient = floats(a.gradients[0]);
    const float* dy = floats(a.output_gradient);
    if (!a.accumulate) std::fill_n(gradient, vocabulary_ * width_, 0.0f);
    for (std::int64_t i = 0; i < problem_.input_elements(); ++i)
      for (std::int64_t c = 0; c < width_; ++c)
        gradient[token(a.inputs[0], i) * width_ + c] += scale_ * dy[i * width_ + c];
  }

 private:
  std::int64_t token(const void* tokens, std::int64_t i) const {
    const std::int64_t token = static_cast<const std::int32_t*>(tokens)[i];
    PIPETRAIN_CHECK(token >= 0 && token < vocabulary_, "token {} of a vocabulary of {}", token,
                    vocabulary_);
    return token;
  }

  std::int64_t vocabulary_, width_;
  float scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Embedding& spec, Problem problem) {
  return std::make_unique<EmbeddingKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
