// The device code of attention: by hand, and against plain loops in f64 at sizes around those of
// its tiles (64 rows, parts of 32 columns, 128 columns at a time).
#include "backend/cuda/attention.hpp"
#include "../../catch.hpp"
#include "device_values.hpp"

using namespace pipetrain;
using namespace pipetrain::cuda;
using namespace pipetrain::testing;

namespace {

struct Computed {
  Floats y, dqkv;
};

Computed on_device(const AttentionSizes& of, const Floats& qkv, const Floats& dy) {
  const TestStream stream;
  const auto rows = static_cast<std::size_t>(of.rows());
  const OnDevice on_qkv(stream, qkv), on_dy(stream, dy), y(stream, Floats(dy.size(), 7)),
      evaluated(stream, Floats(dy.size(), 7)), dqkv(stream, Floats(qkv.size(), 7)),
      products(stream, Floats(rows, 7));
  const OnDevice softmax(stream, std::vector<SoftmaxRow>(rows));
  attention(stream.handle, of, on_qkv.get(), nullptr, evaluated.get());
  attention(stream.handle, of, on_qkv.get(), softmax.get(), y.get());
  attention_backward(stream.handle,
                     {of, on_qkv.get(), y.get(), on_dy.get(), softmax.get(), products.get()},
                     dqkv.get());
  CHECK(same_bits(evaluated.read(), y.read()));
  return {y.read(), dqkv.read()};
}

// One head of one sample, as loops in f64.
class PlainHead {
 public:
  PlainHead(const AttentionSizes& of, std::int64_t sample, std::int64_t head)
      : of_(of), sample_(sample), head_(head) {}

  void compute(const Floats& qkv, const Floats& dy, Computed& to) const {
    for (std::int64_t t = 0; t < of_.length; ++t) {
      const std::vector<double> p = weights(qkv, t);
      std::vector<double> dp(p.size());
      double mean = 0;
      for (std::size_t u = 0; u < p.size(); ++u) {
        for (std::int64_t c = 0; c < of_.width; ++c) {
          to.y[out(t, c)] += static_cast<float>(p[u] * qkv[in(2, u, c)]);
          dp[u] += double{dy[out(t, c)]} * qkv[in(2, u, c)];
        }
        mean += p[u] * dp[u];
      }
      for (std::size_t u = 0; u < p.size(); ++u) {
        const double ds = p[u] * (dp[u] - mean) / std::sqrt(of_.width);
        for (std::int64_t c = 0; c < of_.width; ++c) {
          to.dqkv[in(0, t, c)] += static_cast<float>(ds * qkv[in(1, u, c)]);
          to.dqkv[in(1, u, c)] += static_cast<float>(ds * qkv[in(0, t, c)]);
          to.dqkv[in(2, u, c)] += static_cast<float>(p[u] * dy[out(t, c)]);
        }
      }
    }
  }

 private:
  std::size_t out(std::int64_t t, std::int64_t c) const {
    return ((sample_ * of_.length + t) * of_.heads + head_) * of_.width + c;
  }
  std::size_t in(int part, std::int64_t t, std::int64_t c) const {
    return (((sample_ * of_.length + t) * 3 + part) * of_.heads + head_) * of_.width + c;
  }

  std::vector<double> weights(const Floats& qkv, std::int64_t t) const {
    std::vector<double> p(static_cast<std::size_t>(of_.causal ? t + 1 : of_.length));
    double sum = 0;
    for (std::size_t u = 0; u < p.size(); ++u) {
      for (std::int64_t c = 0; c < of_.width; ++c)
        p[u] += double{qkv[in(0, t, c)]} * qkv[in(1, u, c)];
      p[u] = std::exp(p[u] / std::sqrt(of_.width));
      sum += p[u];
    }
    for (double& weight : p) weight /= sum;
    return p;
  }

  AttentionSizes of_;
  std::int64_t sample_, head_;
};

Computed expected(const AttentionSizes& of, const Floats& qkv, const Floats& dy) {
  Computed computed{Floats(dy.size()), Floats(qkv.size())};
  for (std::int64_t sample = 0; sample < of.samples; ++sample)
    for (std::int64_t head = 0; head < of.heads; ++head)
      PlainHead(of, sample, head).compute(qkv, dy, computed);
  return computed;
}

void check_against_loops(AttentionSizes of, float spread) {
  for (const bool causal : {false, true}) {
    of.causal = causal;
    CAPTURE(of.samples, of.length, of.heads, of.width, causal);
    Floats qkv = numbers(3 * of.rows() * of.width);
    for (float& value : qkv) value *= spread;
    const Floats dy = numbers(of.rows() * of.width, 1);
    const Computed is = on_device(of, qkv, dy), should = expected(of, qkv, dy);
    CHECK(difference(is.y, should.y) < 4e-6);
    CHECK(difference(is.dqkv, should.dqkv) < 2e-5);
  }
}

}  // namespace

TEST_CASE("attention of two positions, by hand", "[device][language]") {
  if (!has_device()) return;
  // One head of width 1: q = (1, 1), k = (0, log 3), v = (8, 4).
  const float log3 = std::log(3.0f);
  const Floats qkv = {1, 0, 8, 1, log3, 4}, dy = {1, 1};
  const Computed all = on_device({1, 2, 1, 1, false}, qkv, dy);
  CHECK(difference(all.y, {5, 5}) < 1e-6);  // a quarter of 8, three of 4
  // ds = p (v - y): 3/4 and -3/4 in each row. dq = ds k, dk = ds q over both rows, dv = p.
  CHECK(difference(all.dqkv, {-0.75f * log3, 1.5f, 0.5f, -0.75f * log3, -1.5f, 1.5f}) < 2e-6);
  const Computed causal = on_device({1, 2, 1, 1, true}, qkv, dy);
  CHECK(difference(causal.y, {8, 5}) < 1e-6);
  CHECK(difference(causal.dqkv, {0, 0.75f, 1.25f, -0.75f * log3, -0.75f, 0.75f}) < 2e-6);
}

TEST_CASE("attention over more than a tile is that of plain loops", "[device][language]") {
  if (!has_device()) return;
  check_against_loops({.samples = 1, .length = 1, .heads = 1, .width = 1, .causal = false}, 1);
  check_against_loops({.samples = 2, .length = 5, .heads = 3, .width = 7, .causal = false}, 1);
  check_against_loops({.samples = 1, .length = 64, .heads = 1, .width = 32, .causal = false}, 1);
  check_against_loops({.samples = 1, .length = 130, .heads = 2, .width = 33, .causal = false}, 2);
  check_against_loops({.samples = 1, .length = 65, .heads = 1, .width = 131, .causal = false}, 1);
}

TEST_CASE("attention: scores far apart, and no number, stay what they are", "[device][language]") {
  if (!has_device()) return;
  // A key that takes it all, in the second tile: exp(1000) is no f32.
  Floats qkv(3 * 70), dy(70, 1.0f);
  for (std::size_t t = 0; t < 70; ++t) {
    qkv[3 * t] = 1;
    qkv[3 * t + 1] = t == 66 ? 1000.0f : -1000.0f;
    qkv[3 * t + 2] = static_cast<float>(t);
  }
  CHECK(difference(on_device({1, 70, 1, 1, false}, qkv, dy).y, Floats(70, 66.0f)) == 0);
  const Computed causal = on_device({1, 70, 1, 1, true}, qkv, dy);
  CHECK(causal.y[65] == Approx(32.5));  // the mean of all before, which are equal
  CHECK(causal.y[66] == 66);
  // What is no number is seen by the positions that see it, and by those alone where causal.
  qkv[3 * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
  const Floats y = on_device({1, 70, 1, 1, true}, qkv, dy).y;
  CHECK(y[2] == Approx(1));
  for (std::size_t t = 3; t < 70; ++t) CHECK(std::isnan(y[t]));
}

TEST_CASE("attention is the same bits each time", "[device][language]") {
  if (!has_device()) return;
  const AttentionSizes of{.samples = 2, .length = 70, .heads = 2, .width = 8, .causal = true};
  const Floats qkv = numbers(3 * of.rows() * of.width), dy = numbers(of.rows() * of.width, 1);
  const Computed once = on_device(of, qkv, dy), again = on_device(of, qkv, dy);
  CHECK(same_bits(once.y, again.y));
  CHECK(same_bits(once.dqkv, again.dqkv));
}
