// Multi-head attention (Vaswani et al. 2017, section 3.2). Queries, keys and values are [C] parts
// of rows: side by side in one input, or in two, the second with keys and values. In each part
// the heads are side by side. A head of width D computes, for position t,
//   s[u] = q[t] . k[u] / sqrt(D),  p = softmax(s),  y[t] = sum over u of p[u] v[u],
// over all u, or over u <= t if causal, except for keys whose token is padding; if nothing is left,
// y[t] = 0. Forward keeps L = log(sum(exp(s))) of every row, from which backward recomputes p:
// p[u] = exp(s[u] - L).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend/reference/kernel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AttentionKernel final : public ReferenceKernel {
 public:
  AttentionKernel(const Attention& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        causal_(spec.causal),
        padding_(spec.padding),
        heads_(spec.heads),
        queries_(problem_.output.dims[0]),
        width_(problem_.output.dims[1]),
        head_width_(width_ / heads_),
        scale_(1 / std::sqrt(static_cast<double>(head_width_))),
        parts_(parts_of(problem_, padding_ >= 0)),
        keys_(parts_[K].rows) {
    traits_.backward_input_reads_inputs = true;
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes = bytes_of<double>(problem_.samples * heads_ * queries_);
    // A row of scores; in backward also the gradients of a head's queries, keys and values.
    traits_.scratch_bytes = bytes_of<double>(keys_ + (queries_ + 2 * keys_) * head_width_);
  }

  void forward(const ForwardArguments& a) override {
    auto* const p = static_cast<double*>(a.scratch);
    for_each_head([&](const Head& head) {
      for (std::int64_t t = 0; t < queries_; ++t) {
        scores(a.inputs, head, t, p);
        const double normaliser = log_sum_exp(p);
        if (problem_.mode == Mode::Train)
          static_cast<double*>(a.saved)[head.index * queries_ + t] = normaliser;
        for (std::int64_t u = 0; u < keys_; ++u) p[u] = std::exp(p[u] - normaliser);
        for (std::int64_t d = 0; d < head_width_; ++d) {
          double sum = 0;
          for (std::int64_t u = 0; u < keys_; ++u)
            if (sees(a.inputs, head, t, u)) sum += p[u] * row(a.inputs, head, V, u)[d];
          floats(a.output)[(head.sample * queries_ + t) * width_ + head.column + d] =
              static_cast<float>(sum);
        }
      }
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    auto* const p = static_cast<double*>(a.scratch);
    const Sums sums{p + keys_, p + keys_ + queries_ * head_width_,
                    p + keys_ + (queries_ + keys_) * head_width_};
    for_each_head([&](const Head& head) {
      for (const Part part : {Q, K, V})
        std::fill_n(sums[part], parts_[part].rows * head_width_, 0.0);
      for (std::int64_t t = 0; t < queries_; ++t) {
        scores(a.inputs, head, t, p);
        const double normaliser = static_cast<const double*>(a.saved)[head.index * queries_ + t];
        for (std::int64_t u = 0; u < keys_; ++u) p[u] = std::exp(p[u] - normaliser);
        add_row_gradients(a, head, t, p, sums);
      }
      for (const Part part : {Q, K, V})
        if (void* const gradient = a.input_gradients[parts_[part].input])
          store_gradients(head, part, sums[part], floats(gradient));
    });
  }

 private:
  enum Part { Q, K, V };
  struct Place {  // of a part: columns of an input
    std::size_t input;
    std::int64_t rows, columns, first_column;
  };
  using Parts = std::array<Place, 3>;
  using Sums = std::array<double*, 3>;  // [rows][head_width_] of each part
  struct Head {
    std::int64_t sample, index, column;  // index: over samples and heads
  };

  static Parts parts_of(const Problem& problem, bool padded) {
    const std::size_t values = problem.inputs.size() - (padded ? 1 : 0), last = values - 1;
    const std::int64_t width = problem.output.dims[1];
    const auto place = [&](std::size_t input, std::int64_t first_column) {
      const std::vector<std::int64_t>& dims = problem.inputs[input].dims;
      return Place{input, dims[0], dims[1], first_column};
    };
    const std::int64_t keys = values == 1 ? width : 0;
    return {place(0, 0), place(last, keys), place(last, keys + width)};
  }

  template <class Visit>
  void for_each_head(Visit visit) const {
    for (std::int64_t n = 0; n < problem_.samples; ++n)
      for (std::int64_t h = 0; h < heads_; ++h) visit(Head{n, n * heads_ + h, h * head_width_});
  }

  using Inputs = std::span<const void* const>;

  bool sees(Inputs inputs, const Head& head, std::int64_t query, std::int64_t key) const {
    if (causal_ && key > query) return false;
    if (padding_ < 0) return true;
    return static_cast<const std::int32_t*>(inputs.back())[head.sample * keys_ + key] != padding_;
  }

  // The first element of a head's part of row t.
  std::int64_t at(const Head& head, Part part, std::int64_t t) const {
    const Place& place = parts_[part];
    return (head.sample * place.rows + t) * place.columns + place.first_column + head.column;
  }
  const float* row(Inputs inputs, const Head& head, Part part, std::int64_t t) const {
    return floats(inputs[parts_[part].input]) + at(head, part, t);
  }

  double dot(const float* a, const float* b) const {
    double sum = 0;
    for (std::int64_t d = 0; d < head_width_; ++d) sum += double{a[d]} * b[d];
    return sum;
  }

  // Scores are -infinity for keys that are not seen.
  void scores(Inputs inputs, const Head& head, std::int64_t t, double* s) const {
    for (std::int64_t u = 0; u < keys_; ++u)
      s[u] = sees(inputs, head, t, u)
                 ? scale_ * dot(row(inputs, head, Q, t), row(inputs, head, K, u))
                 : -kInfinity;
  }

  // 0 if no key is seen, so that exp(s - log_sum_exp) is 0 too.
  double log_sum_exp(const double* s) const {
    const double largest = *std::max_element(s, s + keys_);
    if (largest == -kInfinity) return 0;
    double sum = 0;
    for (std::int64_t u = 0; u < keys_; ++u) sum += std::exp(s[u] - largest);
    return largest + std::log(sum);
  }

  // dv[u] += p[u] dy; with dp[u] = dy . v[u] and ds = p (dp - p . dp): dq += ds k and dk += ds q,
  // both times the scale.
  void add_row_gradients(const BackwardInputArguments& a, const Head& head, std::int64_t t,
                         const double* p, const Sums& sums) const {
    const float* dy =
        floats(a.output_gradient) + (head.sample * queries_ + t) * width_ + head.column;
    const float* q = row(a.inputs, head, Q, t);
    double mean = 0;  // p . dp
    for (std::int64_t u = 0; u < keys_; ++u)
      if (sees(a.inputs, head, t, u)) mean += p[u] * dot(dy, row(a.inputs, head, V, u));
    for (std::int64_t u = 0; u < keys_; ++u) {
      if (!sees(a.inputs, head, t, u)) continue;
      const double dp = dot(dy, row(a.inputs, head, V, u));
      const double ds = scale_ * p[u] * (dp - mean);
      const float* k = row(a.inputs, head, K, u);
      for (std::int64_t d = 0; d < head_width_; ++d) {
        sums[Q][t * head_width_ + d] += ds * k[d];
        sums[K][u * head_width_ + d] += ds * q[d];
        sums[V][u * head_width_ + d] += p[u] * dy[d];
      }
    }
  }

  void store_gradients(const Head& head, Part part, const double* sums, float* gradient) const {
    for (std::int64_t t = 0; t < parts_[part].rows; ++t)
      for (std::int64_t d = 0; d < head_width_; ++d)
        gradient[at(head, part, t) + d] = static_cast<float>(sums[t * head_width_ + d]);
  }

  bool causal_;
  std::int64_t padding_, heads_, queries_, width_, head_width_;
  double scale_;
  Parts parts_;
  std::int64_t keys_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Attention& spec, Problem problem) {
  return std::make_unique<AttentionKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
