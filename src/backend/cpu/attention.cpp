// Attention by our own loops (vector_loops_attention.inl), one head of one sample at a time.
// Forward keeps the largest score and the sum of exponentials of each row, never the scores.
#include <cmath>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

// Where queries, keys or values are: a range of columns in the rows of an input.
struct Place {
  std::size_t input;
  std::int64_t rows, stride, column;
};
struct Places {
  Place queries, keys, values;
};

Places places_of(const Attention& spec, const Problem& problem) {
  const Shape& output = problem.layer->output;
  const std::int64_t length = output.dims[0], width = output.dims[1];
  const std::size_t values = problem.inputs.size() - (spec.padding >= 0 ? 1 : 0);
  if (values == 1)
    return {{0, length, 3 * width, 0},
            {0, length, 3 * width, width},
            {0, length, 3 * width, 2 * width}};
  const std::int64_t keys = problem.inputs[1].elements() / (2 * width);
  return {{0, length, width, 0}, {1, keys, 2 * width, 0}, {1, keys, 2 * width, width}};
}

AttentionLoop loop_of(const Attention& spec, const Problem& problem) {
  const Places places = places_of(spec, problem);
  const std::int64_t width = problem.layer->output.dims[1], head_width = width / spec.heads;
  return {.queries = places.queries.rows,
          .key_rows = places.keys.rows,
          .head_width = head_width,
          .query_stride = places.queries.stride,
          .key_stride = places.keys.stride,
          .output_stride = width,
          .causal = spec.causal,
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width))),
          .keys = places.keys.rows};
}

template <class E>
class AttentionKernel final : public CpuKernel {
 public:
  AttentionKernel(Problem problem, const Attention& spec)
      : CpuKernel(std::move(problem)),
        places_(places_of(spec, problem_)),
        loop_(loop_of(spec, problem_)),
        heads_(spec.heads),
        padding_(spec.padding),
        loop_scratch_(problem_.mode == Mode::Train
                          ? std::max(attention_scratch(loop_), attention_backward_scratch(loop_))
                          : attention_scratch(loop_)),
        thread_scratch_(loop_scratch_ + (padding_ < 0 ? 0 : loop_.key_rows + loop_.queries)) {
    traits_.backward_input_reads_inputs = true;
    traits_.scratch_bytes = bytes_of<float>(threads_ * thread_scratch_);
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes = bytes_of<RowSoftmax>(problem_.samples * heads_ * loop_.queries);
  }

  void forward(const ForwardArguments& a) override {
    each_head(a.inputs, a.scratch, [&](const Head& head, const AttentionLoop& loop, float* own) {
      loops_.attention(loop, rows_in(a.inputs, head), elements<E>(a.output) + head.output,
                       problem_.mode == Mode::Train ? softmax(a.saved, head) : nullptr, own);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    each_head(a.inputs, a.scratch, [&](const Head& head, const AttentionLoop& loop, float* own) {
      loops_.attention_backward(loop, rows_in(a.inputs, head), softmax(a.saved, head),
                                elements<E>(a.output_gradient) + head.output,
                                gradient_rows(a.input_gradients, head), own);
    });
  }

 private:
  struct Head {
    std::int64_t sample, index, column, output;  // index: over samples and heads
  };
  using Inputs = std::span<const void* const>;

  RowSoftmax* softmax(void* saved, const Head& head) const {
    return static_cast<RowSoftmax*>(saved) + head.index * loop_.queries;
  }
  static std::int64_t first_of(const Place& place, const Head& head) {
    return head.sample * place.rows * place.stride + place.column + head.column;
  }
  AttentionRows<const E> rows_in(Inputs inputs, const Head& head) const {
    const auto rows = [&](const Place& place) {
      return elements<E>(inputs[place.input]) + first_of(place, head);
    };
    return {rows(places_.queries), rows(places_.keys), rows(places_.values)};
  }
  AttentionRows<E> gradient_rows(std::span<void* const> gradients, const Head& head) const {
    const auto rows = [&](const Place& place) {
      E* const all = elements<E>(gradients[place.input]);
      return all ? all + first_of(place, head) : nullptr;
    };
    return {rows(places_.queries), rows(places_.keys), rows(places_.values)};
  }

  // The loop for one sample without its padding; the lists of keys go to `memory`.
  AttentionLoop without_padding(Inputs inputs, std::int64_t sample, float* memory) const {
    auto* const kept = reinterpret_cast<std::int32_t*>(memory);
    std::int32_t* const seen = kept + loop_.key_rows;
    const auto* const tokens =
        static_cast<const std::int32_t*>(inputs.back()) + sample * loop_.key_rows;
    AttentionLoop loop = loop_;
    loop.keys = 0;
    for (std::int64_t row = 0; row < loop.key_rows; ++row) {
      if (tokens[row] != padding_) kept[loop.keys++] = static_cast<std::int32_t>(row);
      if (loop.causal) seen[row] = static_cast<std::int32_t>(loop.keys);
    }
    loop.kept = kept;
    loop.seen = seen;
    return loop;
  }

  template <class Body>
  void each_head(Inputs inputs, void* scratch, Body body) const {
    const std::int64_t work =
        problem_.samples * loop_.queries * loop_.key_rows * loop_.output_stride;
    parallel_ranges_with(
        problem_.samples * heads_, work, threads_,
        [&](int thread) { return floats(scratch) + thread * thread_scratch_; },
        [&](float* own, std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t sample = i / heads_, column = i % heads_ * loop_.head_width;
            const Head head{sample, i, column,
                            sample * loop_.queries * loop_.output_stride + column};
            body(head, padding_ < 0 ? loop_ : without_padding(inputs, sample, own + loop_scratch_),
                 own);
          }
        });
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  Places places_;
  AttentionLoop loop_;
  std::int64_t heads_, padding_;
  int threads_ = omp_get_max_threads();
  std::int64_t loop_scratch_, thread_scratch_;  // per thread, in floats
};

}  // namespace

std::int64_t attention_scratch(const AttentionLoop& l) {
  const std::int64_t width = round_up(l.head_width, kLanes), length = round_up(l.keys, kLanes);
  return width * length + l.keys * width + kProductRows * (2 * width + length);
}

std::int64_t attention_backward_scratch(const AttentionLoop& l) {
  const std::int64_t width = round_up(l.head_width, kLanes), length = round_up(l.keys, kLanes);
  return 5 * length * width + 2 * kAttentionRows * (width + length) + kProductRows * width;
}

std::unique_ptr<Kernel> make_kernel(const Attention& spec, Problem problem) {
  return make_by_element<AttentionKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
