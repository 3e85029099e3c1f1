// Rows of a table [V, C], stored as it is, times a scale. For the gradient each thread has its own
// columns and adds up the tokens in their order, so that the result does not depend on the number
// of threads.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/check.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class EmbeddingKernel final : public CpuKernel {
 public:
  EmbeddingKernel(Problem problem, const Embedding& spec)
      : CpuKernel(std::move(problem)),
        scale_(static_cast<float>(spec.scale)),
        width_(spec.embedding_dim),
        tokens_(problem_.input_elements()),
        vocabulary_(problem_.layer->parameters[0].shape.dims[0]) {
    traits_.backward_weight_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    const std::int32_t* const tokens = checked(a.inputs[0]);
    const float* const table = floats(a.weights.parameters[0]);
    parallel_each(tokens_, kElementWork * tokens_ * width_, [&](std::int64_t i) {
      loops_.scale_row(table + tokens[i] * width_, scale_, elements<E>(a.output) + i * width_,
                       width_);
    });
  }

  void backward_input(const BackwardInputArguments&) override {}

  void backward_weight(const BackwardWeightArguments& a) override {
    const std::int32_t* const tokens = checked(a.inputs[0]);
    float* const gradient = floats(a.gradients[0]);
    if (!a.accumulate) clear(gradient);
    column_ranges(width_, tokens_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < tokens_; ++i)
        loops_.add_scaled(gradient + tokens[i] * width_ + begin,
                          elements<E>(a.output_gradient) + i * width_ + begin, scale_, end - begin);
    });
  }

 private:
  // Checked here, because a team's threads must not throw.
  const std::int32_t* checked(const void* memory) const {
    const auto* const tokens = static_cast<const std::int32_t*>(memory);
    for (std::int64_t i = 0; i < tokens_; ++i)
      PIPETRAIN_CHECK(tokens[i] >= 0 && tokens[i] < vocabulary_, "token {} of a vocabulary of {}",
                      tokens[i], vocabulary_);
    return tokens;
  }
  void clear(float* gradient) const {
    parallel_ranges(vocabulary_, kElementWork * vocabulary_ * width_,
                    [&](std::int64_t begin, std::int64_t end) {
                      std::fill(gradient + begin * width_, gradient + end * width_, 0.0f);
                    });
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  float scale_;
  std::int64_t width_, tokens_, vocabulary_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Embedding& spec, Problem problem) {
  return make_by_element<EmbeddingKernel>(std::move(problem), spec);
}

ParameterLayout parameter_layout(const Embedding&, const Problem& problem, int) {
  return channel_parameter(problem.layer->parameters[0].shape.elements(), 1);
}

}  // namespace pipetrain::cpu
