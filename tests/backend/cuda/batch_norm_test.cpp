// The device code of batch_norm against plain loops in f64: one value, one channel, many channels,
// several slices of a channel, values far from zero.
#include "backend/cuda/device/batch_norm.hpp"
#include "../../catch.hpp"
#include "device_values.hpp"

using namespace pipetrain;
using namespace pipetrain::cuda;
using namespace pipetrain::testing;

namespace {

constexpr double kEps = 1e-5;
constexpr Planes kShapes[] = {{1, 1, 1}, {1, 3, 1},    {2, 3, 25},   {300, 7, 1},
                              {5, 1, 1}, {3, 2500, 2}, {40, 2, 900}, {9, 1, 4097}};

struct Expected {  // of all channels
  std::vector<double> mean, scale, spread, sum, product;
  double count;
};

Expected expect(const Planes& of, const Floats& x, const Floats& dy) {
  const std::vector<double> zeros(static_cast<std::size_t>(of.channels));
  Expected e{zeros, zeros, zeros, zeros, zeros, static_cast<double>(of.samples * of.inner)};
  each(of, [&](std::size_t i, std::size_t c) { e.mean[c] += x[i] / e.count; });
  each(of, [&](std::size_t i, std::size_t c) { e.spread[c] += std::pow(x[i] - e.mean[c], 2); });
  for (std::size_t c = 0; c < zeros.size(); ++c)
    e.scale[c] = 1 / std::sqrt(e.spread[c] / e.count + kEps);
  each(of, [&](std::size_t i, std::size_t c) {
    e.sum[c] += dy[i];
    e.product[c] += dy[i] * (x[i] - e.mean[c]) * e.scale[c];
  });
  return e;
}

struct Case {  // a batch_norm's values, on the host and on the device
  Planes planes;
  Floats x, dy, gamma, beta;
  Expected expected;
  TestStream stream;
  OnDevice<float> on_x, on_dy, on_gamma, on_beta, result;
  OnDevice<char> partials;
  OnDevice<Statistics> statistics;

  Case(const Planes& of, Floats values)
      : planes(of),
        x(std::move(values)),
        dy(numbers(of.elements(), 1)),
        gamma(numbers(of.channels, 2)),
        beta(numbers(of.channels, 3)),
        expected(expect(of, x, dy)),
        on_x(stream, x),
        on_dy(stream, dy),
        on_gamma(stream, gamma),
        on_beta(stream, beta),
        result(stream, Floats(x.size(), 7)),
        partials(stream, std::vector<char>(partials_bytes(of))),
        statistics(stream, std::vector<Statistics>(gamma.size())) {}

  void measure(double momentum, const RunningStatistics& running) {
    cuda::measure(stream.handle, {.planes = planes,
                                  .x = on_x.get(),
                                  .eps = kEps,
                                  .momentum = momentum,
                                  .running = running,
                                  .partials = partials.get(),
                                  .statistics = statistics.get()});
  }
  void normalise(bool with_relu) {
    cuda::normalise(stream.handle, {.planes = planes,
                                    .x = on_x.get(),
                                    .statistics = statistics.get(),
                                    .gamma = on_gamma.get(),
                                    .beta = on_beta.get(),
                                    .with_relu = with_relu,
                                    .y = result.get()});
  }
  GradientInput gradient_input() {
    return {planes, on_x.get(), on_dy.get(), statistics.get(), partials.get()};
  }
};

Floats far_from_zero(const Planes& of) {
  Floats x = numbers(of.elements());
  for (float& value : x) value = 1000 + 0.25f * value;
  return x;
}

}  // namespace

TEST_CASE("statistics and values of a micro-batch", "[device]") {
  if (!has_device()) return;
  for (const Planes& of : kShapes)
    for (const bool far : {false, true}) {
      Case a(of, far ? far_from_zero(of) : numbers(of.elements()));
      const Floats before = numbers(of.channels, 4);
      const OnDevice mean(a.stream, before), variance(a.stream, before);
      a.measure(0.25, {mean.get(), variance.get()});
      Floats expected_mean = before, expected_variance = before, y(a.x.size());
      for (std::size_t c = 0; c < before.size(); ++c) {
        expected_mean[c] = static_cast<float>(0.75 * before[c] + 0.25 * a.expected.mean[c]);
        const double unbiased = a.expected.spread[c] / std::max(a.expected.count - 1, 1.0);
        expected_variance[c] = static_cast<float>(0.75 * before[c] + 0.25 * unbiased);
      }
      CHECK(difference(mean.read(), expected_mean) < 1e-6);
      CHECK(difference(variance.read(), expected_variance) < 1e-6);
      const auto statistics = a.statistics.read();
      for (const bool with_relu : {false, true}) {
        each(of, [&](std::size_t i, std::size_t c) {
          y[i] = static_cast<float>(
              (a.x[i] - a.expected.mean[c]) * a.expected.scale[c] * a.gamma[c] + a.beta[c]);
          if (with_relu) y[i] = std::max(y[i], 0.0f);
        });
        a.normalise(with_relu);
        CHECK(difference(a.result.read(), y) < 2e-6);
      }
      // A recomputation gives the same bits, and leaves the running statistics alone.
      const Floats kept = mean.read();
      a.measure(0, {mean.get(), variance.get()});
      const auto again = a.statistics.read();
      CHECK(std::memcmp(again.data(), statistics.data(), again.size() * sizeof(Statistics)) == 0);
      CHECK(same_bits(mean.read(), kept));
    }
}

TEST_CASE("statistics from the running ones", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  Floats mean = numbers(700), variance = numbers(700, 1);
  for (float& v : variance) v = std::abs(v);
  const OnDevice on_mean(stream, mean), on_variance(stream, variance);
  const OnDevice statistics(stream, std::vector<Statistics>(700));
  recall(stream.handle, {on_mean.get(), on_variance.get()}, 700, kEps, statistics.get());
  const auto are = statistics.read();
  for (std::size_t c = 0; c < are.size(); ++c) {
    CHECK(are[c].mean == mean[c]);
    CHECK(are[c].scale == Approx(1 / std::sqrt(variance[c] + kEps)).epsilon(1e-12));
  }
}

TEST_CASE("both halves of the backward, each alone", "[device]") {
  if (!has_device()) return;
  for (const Planes& of : kShapes)
    for (const bool far : {false, true}) {
      Case a(of, far ? far_from_zero(of) : numbers(of.elements()));
      const Expected& e = a.expected;
      a.measure(0, {nullptr, nullptr});
      Floats dx(a.x.size());
      each(of, [&](std::size_t i, std::size_t c) {
        const double normal = (a.x[i] - e.mean[c]) * e.scale[c];
        dx[i] =
            static_cast<float>(a.gamma[c] * e.scale[c] *
                               (a.dy[i] - e.sum[c] / e.count - normal * e.product[c] / e.count));
      });
      const OnDevice sums(a.stream, std::vector<GradientSums>(a.gamma.size()));
      input_gradient(a.stream.handle, a.gradient_input(), a.on_gamma.get(), sums.get(),
                     a.result.get());
      CHECK(difference(a.result.read(), dx) < (of.samples * of.inner > 1 ? 2e-6 : 1e-4));
      for (const bool accumulate : {false, true}) {
        const Floats before = numbers(of.channels, 5);
        Floats gamma = before, beta = before;
        for (std::size_t c = 0; c < before.size(); ++c) {
          gamma[c] = static_cast<float>(e.product[c] + (accumulate ? before[c] : 0.0f));
          beta[c] = static_cast<float>(e.sum[c] + (accumulate ? before[c] : 0.0f));
        }
        const OnDevice dgamma(a.stream, before), dbeta(a.stream, before);
        parameter_gradients(a.stream.handle, a.gradient_input(), dgamma.get(), dbeta.get(),
                            accumulate);
        CHECK(difference(dgamma.read(), gamma) < 2e-6);
        CHECK(difference(dbeta.read(), beta) < 2e-6);
      }
    }
}
