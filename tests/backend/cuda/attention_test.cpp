// The device code of attention: by hand, and against plain loops in f64 at sizes around those of
// its tiles (64 rows, parts of 32 columns, 128 columns at a time).
#include "backend/cuda/device/attention.hpp"

#include <limits>
#include "../../catch.hpp"
#include "device_values.hpp"

using namespace pipetrain;
using namespace pipetrain::cuda;
using namespace pipetrain::testing;

namespace {

// Rows of queries, keys and values, [heads][width] each; or of queries, and of keys and values.
struct Inputs {
  Floats first, second;  // second empty: the first has all three
  std::vector<std::int32_t> tokens = {};

  template <class Value>
  AttentionRows<Value> rows(const AttentionSizes& of, Value* one, Value* two) const {
    const std::int64_t c = of.columns();
    if (second.empty()) return {one, one + c, one + 2 * c, 3 * c, 3 * c};
    return {one, two, two + c, c, 2 * c};
  }
};

struct Computed {
  Floats y, first, second;  // gradients of the inputs
};

Computed on_device(AttentionSizes of, const Inputs& inputs, const Floats& dy) {
  const TestStream stream;
  const auto rows = static_cast<std::size_t>(of.rows());
  const OnDevice first(stream, inputs.first), second(stream, inputs.second), on_dy(stream, dy),
      y(stream, Floats(dy.size(), 7)), evaluated(stream, Floats(dy.size(), 7)),
      d_first(stream, Floats(inputs.first.size(), 7)),
      d_second(stream, Floats(inputs.second.size(), 7)), products(stream, Floats(rows, 7));
  const OnDevice tokens(stream, inputs.tokens);
  const OnDevice softmax(stream, std::vector<SoftmaxRow>(rows));
  if (!inputs.tokens.empty()) of.tokens = tokens.get();
  const auto in = inputs.rows<const float>(of, first.get(), second.get());
  attention(stream.handle, of, in, nullptr, evaluated.get());
  attention(stream.handle, of, in, softmax.get(), y.get());
  attention_backward(stream.handle, {of, in, y.get(), on_dy.get(), softmax.get(), products.get()},
                     inputs.rows<float>(of, d_first.get(), d_second.get()));
  CHECK(same_bits(evaluated.read(), y.read()));
  return {y.read(), d_first.read(), d_second.read()};
}

// One head of one sample, as loops in f64.
class PlainHead {
 public:
  PlainHead(const AttentionSizes& of, const Inputs& inputs, std::int64_t sample, std::int64_t head)
      : of_(of), inputs_(inputs), sample_(sample), head_(head) {}

  void compute(const Floats& dy, Computed& to) const {
    const auto in = inputs_.rows<const float>(of_, inputs_.first.data(), inputs_.second.data());
    const auto d = inputs_.rows<float>(of_, to.first.data(), to.second.data());
    for (std::int64_t t = 0; t < of_.queries; ++t) {
      const std::vector<double> p = weights(in, t);
      std::vector<double> dp(p.size());
      double mean = 0;
      for (std::size_t u = 0; u < p.size(); ++u) {
        for (std::int64_t c = 0; c < of_.width; ++c) {
          to.y[out(t, c)] += static_cast<float>(p[u] * in.values[key(u, c)]);
          dp[u] += double{dy[out(t, c)]} * in.values[key(u, c)];
        }
        mean += p[u] * dp[u];
      }
      for (std::size_t u = 0; u < p.size(); ++u) {
        const double ds = p[u] * (dp[u] - mean) / std::sqrt(of_.width);
        for (std::int64_t c = 0; c < of_.width; ++c) {
          d.queries[query(t, c)] += static_cast<float>(ds * in.keys[key(u, c)]);
          d.keys[key(u, c)] += static_cast<float>(ds * in.queries[query(t, c)]);
          d.values[key(u, c)] += static_cast<float>(p[u] * dy[out(t, c)]);
        }
      }
    }
  }

 private:
  std::size_t out(std::int64_t t, std::int64_t c) const {
    return ((sample_ * of_.queries + t) * of_.heads + head_) * of_.width + c;
  }
  std::size_t query(std::int64_t t, std::int64_t c) const {
    const std::int64_t stride = (inputs_.second.empty() ? 3 : 1) * of_.columns();
    return (sample_ * of_.queries + t) * stride + head_ * of_.width + c;
  }
  std::size_t key(std::int64_t u, std::int64_t c) const {
    const std::int64_t stride = (inputs_.second.empty() ? 3 : 2) * of_.columns();
    return (sample_ * of_.keys + u) * stride + head_ * of_.width + c;
  }
  bool hides(std::int64_t t, std::int64_t u) const {
    const auto at = static_cast<std::size_t>(sample_ * of_.keys + u);
    return (of_.causal && u > t) || (!inputs_.tokens.empty() && inputs_.tokens[at] == of_.padding);
  }

  std::vector<double> weights(const AttentionRows<const float>& in, std::int64_t t) const {
    std::vector<double> p(static_cast<std::size_t>(of_.keys));
    double sum = 0;
    for (std::int64_t u = 0; u < of_.keys; ++u) {
      if (hides(t, u)) continue;
      double score = 0;
      for (std::int64_t c = 0; c < of_.width; ++c)
        score += double{in.queries[query(t, c)]} * in.keys[key(u, c)];
      sum += p[static_cast<std::size_t>(u)] = std::exp(score / std::sqrt(of_.width));
    }
    for (double& weight : p) weight /= sum > 0 ? sum : 1;
    return p;
  }

  AttentionSizes of_;
  const Inputs& inputs_;
  std::int64_t sample_, head_;
};

Computed expected(const AttentionSizes& of, const Inputs& inputs, const Floats& dy) {
  Computed computed{Floats(dy.size()), Floats(inputs.first.size()), Floats(inputs.second.size())};
  for (std::int64_t sample = 0; sample < of.samples; ++sample)
    for (std::int64_t head = 0; head < of.heads; ++head)
      PlainHead(of, inputs, sample, head).compute(dy, computed);
  return computed;
}

void check_against_loops(const AttentionSizes& of, const Inputs& inputs) {
  CAPTURE(of.samples, of.queries, of.keys, of.heads, of.width, of.causal, inputs.second.empty(),
          inputs.tokens);
  const Floats dy = numbers(of.rows() * of.width, 1);
  const Computed is = on_device(of, inputs, dy), should = expected(of, inputs, dy);
  CHECK(difference(is.y, should.y) < 4e-6);
  CHECK(difference(is.first, should.first) < 2e-5);
  CHECK(difference(is.second, should.second) < 2e-5);
}

// In every second sample the last third of the keys, and key 1, are padding.
std::vector<std::int32_t> tokens_of(const AttentionSizes& of) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < of.samples * of.keys; ++i) {
    const std::int64_t key = i % of.keys;
    const bool padded = i / of.keys % 2 == 0 && (key == 1 || 3 * key >= 2 * of.keys);
    tokens.push_back(padded ? of.padding : 4);
  }
  return tokens;
}

Inputs apart(const AttentionSizes& of) {
  return {numbers(of.rows() * of.width), numbers(2 * of.samples * of.keys * of.columns(), 3)};
}

void check_one_value(std::int64_t samples, std::int64_t length, std::int64_t heads,
                     std::int64_t width, float spread) {
  AttentionSizes of{samples, length, length, heads, width, false};
  Inputs inputs{numbers(3 * of.rows() * of.width), {}};
  for (float& value : inputs.first) value *= spread;
  for (const bool padded : {false, true})
    for (const bool causal : {false, true}) {
      of.causal = causal;
      of.padding = padded ? 2 : -1;
      inputs.tokens = padded ? tokens_of(of) : std::vector<std::int32_t>{};
      check_against_loops(of, inputs);
    }
}

void check_two_values(std::int64_t samples, std::int64_t queries, std::int64_t keys,
                      std::int64_t heads, std::int64_t width) {
  AttentionSizes of{samples, queries, keys, heads, width, false};
  Inputs inputs = apart(of);
  check_against_loops(of, inputs);
  of.padding = 0;
  inputs.tokens = tokens_of(of);
  check_against_loops(of, inputs);
}

}  // namespace

TEST_CASE("attention of two positions, by hand", "[device][language]") {
  if (!has_device()) return;
  // One head of width 1: q = (1, 1), k = (0, log 3), v = (8, 4).
  const float log3 = std::log(3.0f);
  const Inputs qkv{{1, 0, 8, 1, log3, 4}, {}};
  const Floats dy = {1, 1};
  const Computed all = on_device({1, 2, 2, 1, 1, false}, qkv, dy);
  CHECK(difference(all.y, {5, 5}) < 1e-6);  // a quarter of 8, three quarters of 4
  // ds = p (v - y): 3/4 and -3/4 in each row. dq = ds k, dk = ds q over both rows, dv = p.
  CHECK(difference(all.first, {-0.75f * log3, 1.5f, 0.5f, -0.75f * log3, -1.5f, 1.5f}) < 2e-6);
  const Computed causal = on_device({1, 2, 2, 1, 1, true}, qkv, dy);
  CHECK(difference(causal.y, {8, 5}) < 1e-6);
  CHECK(difference(causal.first, {0, 0.75f, 1.25f, -0.75f * log3, -0.75f, 0.75f}) < 2e-6);
}

TEST_CASE("attention over more than a tile equals plain loops", "[device][language]") {
  if (!has_device()) return;
  check_one_value(1, 1, 1, 1, 1);
  check_one_value(2, 5, 3, 7, 1);
  check_one_value(1, 64, 1, 32, 1);
  check_one_value(1, 130, 2, 33, 2);
  check_one_value(1, 65, 1, 131, 1);
}

TEST_CASE("attention to other rows than the queries' own", "[device][language]") {
  if (!has_device()) return;
  check_two_values(1, 1, 3, 1, 1);
  check_two_values(3, 5, 2, 3, 7);
  check_two_values(2, 66, 7, 1, 33);
  check_two_values(2, 9, 200, 2, 8);
}

TEST_CASE("attention: padding alone gives zeros, and what it holds reaches nothing",
          "[device][language]") {
  if (!has_device()) return;
  const AttentionSizes of{.samples = 2,
                          .queries = 3,
                          .keys = 70,
                          .heads = 1,
                          .width = 2,
                          .causal = false,
                          .padding = 5};
  Inputs clean = apart(of);
  clean.tokens = std::vector<std::int32_t>(140, 5);
  clean.tokens[72] = clean.tokens[139] = 1;  // in the second sample; the first is all padding
  Inputs inputs = clean;
  for (std::size_t i = 0; i < inputs.second.size(); ++i)
    if (inputs.tokens[i / 4] == 5) inputs.second[i] = std::numeric_limits<float>::quiet_NaN();
  const Floats dy = numbers(12, 1);
  const Computed is = on_device(of, inputs, dy), should = expected(of, clean, dy);
  CHECK(difference(is.y, should.y) < 1e-6);
  CHECK(difference(is.first, should.first) < 1e-6);
  CHECK(difference(is.second, should.second) < 1e-6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(is.y[i] == 0);
    CHECK(is.first[i] == 0);
  }
  for (std::size_t i = 0; i < is.second.size(); ++i)
    if (inputs.tokens[i / 4] == 5) CHECK(is.second[i] == 0);
}

TEST_CASE("attention: scores far apart do no harm, and a NaN stays a NaN", "[device][language]") {
  if (!has_device()) return;
  // A key that takes all the weight, in the second tile: exp(1000) is too large for f32.
  Inputs qkv{Floats(3 * 70), {}};
  const Floats dy(70, 1.0f);
  for (std::size_t t = 0; t < 70; ++t) {
    qkv.first[3 * t] = 1;
    qkv.first[3 * t + 1] = t == 66 ? 1000.0f : -1000.0f;
    qkv.first[3 * t + 2] = static_cast<float>(t);
  }
  CHECK(difference(on_device({1, 70, 70, 1, 1, false}, qkv, dy).y, Floats(70, 66.0f)) == 0);
  const Computed causal = on_device({1, 70, 70, 1, 1, true}, qkv, dy);
  CHECK(causal.y[65] == Approx(32.5));  // the mean of all before, which are equal
  CHECK(causal.y[66] == 66);
  // A NaN reaches the positions that see its key, and only those if attention is causal.
  qkv.first[3 * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
  const Floats y = on_device({1, 70, 70, 1, 1, true}, qkv, dy).y;
  CHECK(y[2] == Approx(1));
  for (std::size_t t = 3; t < 70; ++t) CHECK(std::isnan(y[t]));
}

TEST_CASE("attention gives the same bits each time", "[device][language]") {
  if (!has_device()) return;
  AttentionSizes of{2, 70, 70, 2, 8, true};
  of.padding = 1;
  const Inputs qkv{numbers(3 * of.rows() * of.width), {}, tokens_of(of)};
  const Floats dy = numbers(of.rows() * of.width, 1);
  const Computed once = on_device(of, qkv, dy), again = on_device(of, qkv, dy);
  CHECK(same_bits(once.y, again.y));
  CHECK(same_bits(once.first, again.first));
}
