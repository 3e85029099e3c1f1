// Multi-head attention (Vaswani et al. 2017, section 3.2). The input's rows are [3C]: queries, keys
// and values, in each of which the heads lie side by side. A head of width D does, for position t,
//   s[u] = q[t] . k[u] / sqrt(D),  p = softmax(s),  y[t] = sum over u of p[u] v[u],
// over all u, or u <= t where it is causal. Forward keeps log(sum(exp(s))) of every row, which
// gives p again: p[u] = exp(s[u] - that).
#include <algorithm>
#include <cmath>

#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class AttentionKernel final : public ReferenceKernel {
 public:
  AttentionKernel(const Attention& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        causal_(spec.causal),
        heads_(spec.heads),
        length_(problem_.output.dims[0]),
        width_(problem_.output.dims[1]),
        head_width_(width_ / heads_),
        scale_(1 / std::sqrt(static_cast<double>(head_width_))) {
    traits_.backward_input_reads_inputs = true;
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes =
          static_cast<std::size_t>(problem_.samples * heads_ * length_) * sizeof(double);
    // A row of scores, and in backward the gradients of a head's queries, keys and values.
    traits_.scratch_bytes =
        static_cast<std::size_t>(length_ + 3 * length_ * head_width_) * sizeof(double);
  }

  void forward(const ForwardArguments& a) override {
    auto* const p = static_cast<double*>(a.scratch);
    for_each_head([&](const Head& head) {
      for (std::int64_t t = 0; t < length_; ++t) {
        scores(a.inputs[0], head, t, p);
        const double normaliser = log_sum_exp(p, keys_of(t));
        if (problem_.mode == Mode::Train)
          static_cast<double*>(a.saved)[head.index * length_ + t] = normaliser;
        for (std::int64_t u = 0; u < keys_of(t); ++u) p[u] = std::exp(p[u] - normaliser);
        for (std::int64_t d = 0; d < head_width_; ++d) {
          double sum = 0;
          for (std::int64_t u = 0; u < keys_of(t); ++u)
            sum += p[u] * row(a.inputs[0], head, V, u)[d];
          floats(a.output)[(head.sample * length_ + t) * width_ + head.column + d] =
              static_cast<float>(sum);
        }
      }
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    auto *const p = static_cast<double*>(a.scratch), *const sums = p + length_;
    for_each_head([&](const Head& head) {
      std::fill_n(sums, 3 * length_ * head_width_, 0.0);
      for (std::int64_t t = 0; t < length_; ++t) {
        scores(a.inputs[0], head, t, p);
        const double normaliser = static_cast<const double*>(a.saved)[head.index * length_ + t];
        for (std::int64_t u = 0; u < keys_of(t); ++u) p[u] = std::exp(p[u] - normaliser);
        add_row_gradients(a, head, t, p, sums);
      }
      store_gradients(head, sums, floats(a.input_gradients[0]));
    });
  }

 private:
  enum Part { Q, K, V };
  struct Head {
    std::int64_t sample, index, column;  // index: over samples and heads
  };

  template <class Visit>
  void for_each_head(Visit visit) const {
    for (std::int64_t n = 0; n < problem_.samples; ++n)
      for (std::int64_t h = 0; h < heads_; ++h) visit(Head{n, n * heads_ + h, h * head_width_});
  }

  std::int64_t keys_of(std::int64_t t) const { return causal_ ? t + 1 : length_; }

  // The first element of a head's part of a row.
  std::int64_t at(const Head& head, Part part, std::int64_t t) const {
    return (head.sample * length_ + t) * 3 * width_ + part * width_ + head.column;
  }
  const float* row(const void* input, const Head& head, Part part, std::int64_t t) const {
    return floats(input) + at(head, part, t);
  }

  double dot(const float* a, const float* b) const {
    double sum = 0;
    for (std::int64_t d = 0; d < head_width_; ++d) sum += double{a[d]} * b[d];
    return sum;
  }

  void scores(const void* input, const Head& head, std::int64_t t, double* s) const {
    for (std::int64_t u = 0; u < keys_of(t); ++u)
      s[u] = scale_ * dot(row(input, head, Q, t), row(input, head, K, u));
  }

  static double log_sum_exp(const double* s, std::int64_t count) {
    const double largest = *std::max_element(s, s + count);
    double sum = 0;
    for (std::int64_t u = 0; u < count; ++u) sum += std::exp(s[u] - largest);
    return largest + std::log(sum);
  }

  // dv[u] += p[u] dy; with dp[u] = dy . v[u], ds = p (dp - p . dp); dq += ds k and dk += ds q, by
  // the scale.
  void add_row_gradients(const BackwardInputArguments& a, const Head& head, std::int64_t t,
                         const double* p, double* sums) const {
    const float* dy =
        floats(a.output_gradient) + (head.sample * length_ + t) * width_ + head.column;
    const float* q = row(a.inputs[0], head, Q, t);
    double mean = 0;  // p . dp
    for (std::int64_t u = 0; u < keys_of(t); ++u)
      mean += p[u] * dot(dy, row(a.inputs[0], head, V, u));
    for (std::int64_t u = 0; u < keys_of(t); ++u) {
      const double dp = dot(dy, row(a.inputs[0], head, V, u));
      const double ds = scale_ * p[u] * (dp - mean);
      const float* k = row(a.inputs[0], head, K, u);
      for (std::int64_t d = 0; d < head_width_; ++d) {
        sums[(Q * length_ + t) * head_width_ + d] += ds * k[d];
        sums[(K * length_ + u) * head_width_ + d] += ds * q[d];
        sums[(V * length_ + u) * head_width_ + d] += p[u] * dy[d];
      }
    }
  }

  void store_gradients(const Head& head, const double* sums, float* gradient) const {
    for (const Part part : {Q, K, V})
      for (std::int64_t t = 0; t < length_; ++t)
        for (std::int64_t d = 0; d < head_width_; ++d)
          gradient[at(head, part, t) + d] =
              static_cast<float>(sums[(part * length_ + t) * head_width_ + d]);
  }

  bool causal_;
  std::int64_t heads_, length_, width_, head_width_;
  double scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Attention& spec, Problem problem) {
  return std::make_unique<AttentionKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
