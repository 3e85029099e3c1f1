// Attention by our own loops (vector_loops_attention.inl), a head of a sample at a time. Forward
// keeps the largest score and the sum of exponentials of each row, never the scores.
#include <cmath>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

AttentionLoop loop_of(const Attention& spec, const Problem& problem) {
  const std::int64_t width = problem.layer->output.dims[1], head_width = width / spec.heads;
  return {.length = problem.layer->output.dims[0],
          .width = width,
          .head_width = head_width,
          .causal = spec.causal,
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width)))};
}

template <class E>
class AttentionKernel final : public CpuKernel {
 public:
  AttentionKernel(Problem problem, const Attention& spec)
      : CpuKernel(std::move(problem)),
        loop_(loop_of(spec, problem_)),
        heads_(spec.heads),
        thread_scratch_(problem_.mode == Mode::Train
                            ? std::max(attention_scratch(loop_), attention_backward_scratch(loop_))
                            : attention_scratch(loop_)) {
    traits_.backward_input_reads_inputs = true;
    traits_.scratch_bytes = static_cast<std::size_t>(threads_ * thread_scratch_) * sizeof(float);
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes =
          static_cast<std::size_t>(problem_.samples * heads_ * loop_.length) * sizeof(RowSoftmax);
  }

  void forward(const ForwardArguments& a) override {
    each_head(a.scratch, [&](const Head& head, float* scratch) {
      RowSoftmax* const softmax =
          problem_.mode == Mode::Train ? static_cast<RowSoftmax*>(a.saved) + head.softmax : nullptr;
      loops_.attention(loop_, elements<E>(a.inputs[0]) + head.input,
                       elements<E>(a.output) + head.output, softmax, scratch);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    each_head(a.scratch, [&](const Head& head, float* scratch) {
      loops_.attention_backward(loop_, elements<E>(a.inputs[0]) + head.input,
                                static_cast<const RowSoftmax*>(a.saved) + head.softmax,
                                elements<E>(a.output_gradient) + head.output,
                                elements<E>(a.input_gradients[0]) + head.input, scratch);
    });
  }

 private:
  struct Head {  // where its part of each begins
    std::int64_t input, output, softmax;
  };

  template <class Body>
  void each_head(void* scratch, Body body) const {
    const std::int64_t work = problem_.samples * loop_.length * loop_.length * loop_.width;
    parallel_ranges_with(
        problem_.samples * heads_, work, threads_,
        [&](int thread) { return floats(scratch) + thread * thread_scratch_; },
        [&](float* own, std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t n = i / heads_, h = i % heads_, rows = n * loop_.length;
            body({.input = rows * 3 * loop_.width + h * loop_.head_width,
                  .output = rows * loop_.width + h * loop_.head_width,
                  .softmax = i * loop_.length},
                 own);
          }
        });
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  AttentionLoop loop_;
  std::int64_t heads_;
  int threads_ = omp_get_max_threads();
  std::int64_t thread_scratch_;
};

}  // namespace

std::int64_t attention_scratch(const AttentionLoop& l) {
  const std::int64_t width = round_up(l.head_width, kLanes), length = round_up(l.length, kLanes);
  return width * length + l.length * width + kProductRows * (2 * width + length);
}

std::int64_t attention_backward_scratch(const AttentionLoop& l) {
  const std::int64_t width = round_up(l.head_width, kLanes), length = round_up(l.length, kLanes);
  return 5 * length * width + 2 * kAttentionRows * (width + length) + kProductRows * width;
}

std::unique_ptr<Kernel> make_kernel(const Attention& spec, Problem problem) {
  return make_by_element<AttentionKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
