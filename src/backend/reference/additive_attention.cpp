// Additive attention (Bahdanau et al. 2015, appendix A.1.2; normalised as by Salimans and Kingma
// 2016, section 2, with a bias). For query t, over the keys s whose token is not padding:
//   score[s] = sum over n of v[n] tanh(q[t][n] + k[s][n] + b[n]),  v = g att / |att|,
//   p = softmax(score),  y[t] = sum over s of p[s] values[s].
// Not normalised: v is att and b is 0. If no key is left, y[t] = 0. Forward keeps p.
// backward_input() also sums the gradients of v and b, and keeps them for backward_weight().
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/reference/kernel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::reference {
namespace {

class AdditiveAttentionKernel final : public ReferenceKernel {
 public:
  AdditiveAttentionKernel(const AdditiveAttention& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        spec_(spec),
        queries_(problem_.inputs[0].dims[0]),
        units_(problem_.inputs[0].dims[1]),
        keys_(problem_.inputs[1].dims[0]),
        width_(problem_.inputs[2].dims[1]) {
    traits_.backward_input_reads_inputs = true;
    traits_.backward_weight_needs_backward_input = true;
    const auto bytes = [](std::int64_t doubles) { return bytes_of<double>(doubles); };
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes = bytes(problem_.samples * queries_ * keys_ + 3 * units_ + 1);
    traits_.scratch_bytes =
        bytes(keys_ + problem_.samples * ((queries_ + keys_) * units_ + keys_ * width_));
  }

  void forward(const ForwardArguments& a) override {
    const bool trains = problem_.mode == Mode::Train;
    for (std::int64_t row = 0; row < problem_.samples * queries_; ++row) {
      double* const p =
          static_cast<double*>(trains ? a.saved : a.scratch) + (trains ? row * keys_ : 0);
      probabilities(a, row, p);
      for (std::int64_t c = 0; c < width_; ++c) {
        double sum = 0;
        each_key(a.inputs, row, [&](std::int64_t s, std::int64_t key) {
          sum += p[s] * floats(a.inputs[2])[key * width_ + c];
        });
        floats(a.output)[row * width_ + c] = static_cast<float>(sum);
      }
    }
  }

  void backward_input(const BackwardInputArguments& a) override {
    const Sums sums = sums_in(static_cast<double*>(a.scratch) + keys_, a.saved);
    std::fill_n(sums.queries, problem_.samples * queries_ * units_, 0.0);
    std::fill_n(sums.keys, problem_.samples * keys_ * units_, 0.0);
    std::fill_n(sums.values, problem_.samples * keys_ * width_, 0.0);
    std::fill_n(sums.v, 2 * units_, 0.0);
    for (std::int64_t row = 0; row < problem_.samples * queries_; ++row) add_row(a, row, sums);
    const std::array<const double*, 3> of = {sums.queries, sums.keys, sums.values};
    for (std::size_t i = 0; i < 3; ++i)
      if (float* const gradient = floats(a.input_gradients[i]))
        std::transform(of[i], of[i] + problem_.samples * problem_.inputs[i].elements(), gradient,
                       [](double sum) { return static_cast<float>(sum); });
    for (std::int64_t n = 0; n < units_; ++n) sums.unit[n] = of_att(a.weights, n) / norm(a.weights);
    *sums.scale = spec_.normalize ? scalar(a.weights) / norm(a.weights) : 1;
  }

  // With u = att / |att| and v = g u:  dg = dv . u,  datt = g / |att| (dv - u dg).
  void backward_weight(const BackwardWeightArguments& a) override {
    const Sums sums = sums_in(nullptr, const_cast<void*>(a.saved));
    double dg = 0;
    for (std::int64_t n = 0; n < units_; ++n) dg += sums.v[n] * sums.unit[n];
    for (std::int64_t n = 0; n < units_; ++n) {
      const double along = spec_.normalize ? sums.unit[n] * dg : 0;
      put(floats(a.gradients[0])[n], *sums.scale * (sums.v[n] - along), a.accumulate);
      if (spec_.normalize) put(floats(a.gradients[2])[n], sums.bias[n], a.accumulate);
    }
    if (spec_.normalize) put(*floats(a.gradients[1]), dg, a.accumulate);
  }

 private:
  struct Sums {
    double *queries, *keys, *values;  // gradients, shaped like the inputs
    double *v, *bias;                 // gradients, [units_]
    double *unit, *scale;             // att / |att| and g / |att|, of the weights read
  };
  Sums sums_in(double* scratch, void* saved) const {
    double* const kept =
        static_cast<double*>(saved) + problem_.samples * queries_ * keys_;  // after p
    const Sums of_weights{nullptr,       nullptr,           nullptr,          kept,
                          kept + units_, kept + 2 * units_, kept + 3 * units_};
    if (!scratch) return of_weights;
    Sums sums = of_weights;
    sums.queries = scratch;
    sums.keys = sums.queries + problem_.samples * queries_ * units_;
    sums.values = sums.keys + problem_.samples * keys_ * units_;
    return sums;
  }

  static double of_att(const Weights& weights, std::int64_t n) {
    return floats(weights.parameters[0])[n];
  }
  static double scalar(const Weights& weights) { return *floats(weights.parameters[1]); }
  double norm(const Weights& weights) const {
    double squares = 0;
    for (std::int64_t n = 0; n < units_; ++n) squares += of_att(weights, n) * of_att(weights, n);
    return std::sqrt(squares);
  }
  double v_at(const Weights& weights, double scale, std::int64_t n) const {
    return scale * of_att(weights, n);
  }
  double scale_of(const Weights& weights) const {
    return spec_.normalize ? scalar(weights) / norm(weights) : 1;
  }

  // visit(s, its row among all samples' keys) for each key that a query sees.
  template <class Visit>
  void each_key(std::span<const void* const> inputs, std::int64_t row, Visit visit) const {
    const std::int64_t first = row / queries_ * keys_;
    for (std::int64_t s = 0; s < keys_; ++s)
      if (spec_.padding < 0 ||
          static_cast<const std::int32_t*>(inputs[3])[first + s] != spec_.padding)
        visit(s, first + s);
  }

  double bent(std::span<const void* const> inputs, const Weights& weights, std::int64_t row,
              std::int64_t key, std::int64_t n) const {
    const double bias = spec_.normalize ? floats(weights.parameters[2])[n] : 0;
    return std::tanh(double{floats(inputs[0])[row * units_ + n]} +
                     floats(inputs[1])[key * units_ + n] + bias);
  }

  // p is 0 for keys that are not seen.
  void probabilities(const ForwardArguments& a, std::int64_t row, double* p) const {
    const double scale = scale_of(a.weights);
    std::fill_n(p, keys_, 0.0);
    double largest = -HUGE_VAL, sum = 0;
    each_key(a.inputs, row, [&](std::int64_t s, std::int64_t key) {
      for (std::int64_t n = 0; n < units_; ++n)
        p[s] += v_at(a.weights, scale, n) * bent(a.inputs, a.weights, row, key, n);
      largest = std::max(largest, p[s]);
    });
    each_key(a.inputs, row, [&](std::int64_t s, std::int64_t) {
      p[s] = std::exp(p[s] - largest);
      sum += p[s];
    });
    each_key(a.inputs, row, [&](std::int64_t s, std::int64_t) { p[s] /= sum; });
  }

  // dp[s] = dy . values[s], ds = p (dp - p . dp), and from there back through the tanh.
  void add_row(const BackwardInputArguments& a, std::int64_t row, const Sums& sums) const {
    const double* p = static_cast<const double*>(a.saved) + row * keys_;
    auto* const dp = static_cast<double*>(a.scratch);
    const float* dy = floats(a.output_gradient) + row * width_;
    double mean = 0;
    each_key(a.inputs, row, [&](std::int64_t s, std::int64_t key) {
      dp[s] = 0;
      for (std::int64_t c = 0; c < width_; ++c) {
        dp[s] += double{dy[c]} * floats(a.inputs[2])[key * width_ + c];
        sums.values[key * width_ + c] += p[s] * dy[c];
      }
      mean += p[s] * dp[s];
    });
    const double scale = scale_of(a.weights);
    each_key(a.inputs, row, [&](std::int64_t s, std::int64_t key) {
      const double ds = p[s] * (dp[s] - mean);
      for (std::int64_t n = 0; n < units_; ++n) {
        const double t = bent(a.inputs, a.weights, row, key, n);
        const double inner = ds * v_at(a.weights, scale, n) * (1 - t * t);
        sums.queries[row * units_ + n] += inner;
        sums.keys[key * units_ + n] += inner;
        sums.bias[n] += inner;
        sums.v[n] += ds * t;
      }
    });
  }

  AdditiveAttention spec_;
  std::int64_t queries_, units_, keys_, width_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const AdditiveAttention& spec, Problem problem) {
  return std::make_unique<AdditiveAttentionKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
