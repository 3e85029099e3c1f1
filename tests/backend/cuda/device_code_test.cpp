// Each launch function of our own device code against plain loops, at odd sizes: none, one, not a
// multiple of a block, more than a grid has threads.
#include <cmath>
#include <limits>
#include <type_traits>

#include "../../catch.hpp"
#include "backend/cuda/device/dropout.hpp"
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/loss.hpp"
#include "backend/cuda/device/optimizer.hpp"
#include "backend/cuda/device/reduce.hpp"
#include "backend/dropout_mask.hpp"
#include "device_values.hpp"

using namespace pipetrain;
using namespace pipetrain::cuda;
using namespace pipetrain::testing;

namespace {

constexpr std::int64_t kBeyondGrid = 2048 * 256 + 77;

float relu_of(float x) { return x < 0 ? 0 : x; }

}  // namespace

TEST_CASE("relu keeps NaN, in place or not, and lets gradients through by the output", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 255, 256, 257, 1000, int{kBeyondGrid}}) {
    Floats x = numbers(count);
    if (count > 2) x[2] = kNan;
    Floats expected = x;
    for (float& value : expected) value = relu_of(value);
    const OnDevice on(stream, x), y(stream, Floats(x.size(), 7)), dx(stream, numbers(count, 3));
    relu(stream.handle, on.get(), y.get(), count);
    apply_relu(stream.handle, on.get(), count);
    CHECK(same_bits(y.read(), expected));
    CHECK(same_bits(on.read(), expected));
    const Floats dy = numbers(count, 3);
    relu_backward(stream.handle, y.get(), dx.get(), dx.get(), count);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = expected[i] > 0 ? dy[i] : 0;
    CHECK(same_bits(dx.read(), expected));
  }
}

TEST_CASE("a sum of any number of terms is added up in their order", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 300, int{kBeyondGrid}})
    for (const int terms : {1, 2, 7, 8, 9, 15, 16, 24}) {
      if (count > 1000 && terms > 2) continue;
      std::vector<std::unique_ptr<OnDevice<float>>> values;
      std::vector<const float*> pointers;
      Floats expected;
      for (int term = 0; term < terms; ++term) {
        const Floats x = numbers(count, term);
        values.push_back(std::make_unique<OnDevice<float>>(stream, x));
        pointers.push_back(values.back()->get());
        if (term == 0) expected = x;
        for (std::size_t i = 0; term > 0 && i < x.size(); ++i) expected[i] += x[i];
      }
      const OnDevice result(stream, Floats(expected.size(), 7));
      sum(stream.handle, pointers, result.get(), count, false);
      CHECK(same_bits(result.read(), expected));
      for (float& value : expected) value = relu_of(value);
      sum(stream.handle, pointers, values[0]->get(), count, true);  // into its first term
      CHECK(same_bits(values[0]->read(), expected));
    }
}

TEST_CASE("a bias is added to its channel", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  const Planes shapes[] = {{1, 1, 1}, {3, 5, 7},   {70, 300, 1},  {2, 3, 300},
                           {0, 4, 4}, {1, 1, 999}, {9, 257, 300}, {530000, 1, 1}};
  for (const Planes& of : shapes)
    for (const bool with_relu : {false, true}) {
      Floats x = numbers(of.elements()), bias = numbers(of.channels, 1);
      const OnDevice values(stream, x), on(stream, bias);
      add_bias(stream.handle, values.get(), on.get(), of, with_relu);
      each(of, [&](std::size_t i, std::size_t c) {
        x[i] = with_relu ? relu_of(x[i] + bias[c]) : x[i] + bias[c];
      });
      CHECK(same_bits(values.read(), x));
    }
}

TEST_CASE("a combination may overwrite one of its terms", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 513}) {
    const Floats x = numbers(count), y = numbers(count, 1);
    Floats expected = x;
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = 0.25f * x[i] - 3 * y[i];
    const OnDevice a(stream, x), b(stream, y);
    combine(stream.handle, 0.25f, a.get(), -3, b.get(), b.get(), count);
    CHECK(difference(b.read(), expected) < 1e-6);
    CHECK(same_bits(a.read(), x));
  }
}

TEST_CASE("means of rows, and their gradient", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  const std::pair<int, int> shapes[] = {{0, 3},  {1, 1},   {8, 32},    {9, 49},
                                        {7, 33}, {3, 999}, {20000, 3}, {2, 300000}};
  for (const auto& [rows, columns] : shapes) {
    const Floats x = numbers(std::int64_t{rows} * columns), dy = numbers(rows, 1);
    Floats means(dy.size()), dx(x.size());
    for (std::size_t i = 0; i < means.size(); ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j) sum += x[i * columns + j];
      means[i] = static_cast<float>(sum / columns);
      for (int j = 0; j < columns; ++j) dx[i * columns + j] = dy[i] / static_cast<float>(columns);
    }
    const OnDevice on(stream, x), y(stream, dy), to(stream, Floats(dy.size(), 7));
    row_means(stream.handle, on.get(), rows, columns, to.get());
    spread(stream.handle, y.get(), rows, columns, on.get());
    CHECK(difference(to.read(), means) < 1e-6);
    CHECK(difference(on.read(), dx) < 1e-7);
  }
}

TEST_CASE("gradients of biases: sums of columns and of channels", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  const OnDevice partials(stream, std::vector<double>(kPartialSumsMax, 7));
  const SumStream sums_on{stream.handle, partials.get()};
  const Planes shapes[] = {// one slice
                           {1, 1, 1},
                           {7, 33, 1},
                           {100, 10, 1},
                           {3, 66000, 1},
                           {4, 3, 300},
                           {2, 32, 1},
                           {2, 3000, 2},
                           {8, 64, 9},
                           {9, 1, 257},
                           {5, 7, 31},
                           // nothing to add up
                           {0, 3, 1},
                           {0, 3, 9},
                           {0, 3, 40},
                           {0, 1, 1},
                           // slices of rows
                           {300, 5, 1},
                           {3000, 31, 1},
                           {8192, 10, 1},
                           {1025, 65, 1},
                           {255, 2, 1},
                           {40000, 2, 1},
                           {300, 5, 4},
                           {2049, 3, 9},
                           {515, 70, 2},
                           // slices of channels
                           {1, 2, 70000},
                           {21, 5, 1000},
                           {8193, 2, 32},
                           {3, 2, 400001},
                           {9001, 1, 1},
                           {70, 1, 257},
                           // more columns than there is room for partial sums
                           {2, 2000, 20}};
  for (const Planes& of : shapes)
    for (const bool accumulate : {false, true}) {
      const Floats dy = numbers(of.elements()), before = numbers(of.channels, 1);
      std::vector<double> sums(before.size());
      each(of, [&](std::size_t i, std::size_t c) { sums[c] += dy[i]; });
      Floats expected(before.size());
      for (std::size_t c = 0; c < sums.size(); ++c)
        expected[c] = static_cast<float>(sums[c] + (accumulate ? before[c] : 0.0f));
      CAPTURE(of.samples, of.channels, of.inner, accumulate);
      const OnDevice on(stream, dy), a(stream, before), b(stream, before);
      if (of.inner == 1) {
        column_sums(sums_on, on.get(), of.samples, of.channels, b.get(), accumulate);
        CHECK(difference(b.read(), expected) < 1e-6);
      }
      channel_sums(sums_on, on.get(), of.samples, of.channels, of.inner, a.get(), accumulate);
      CHECK(difference(a.read(), expected) < 1e-6);
    }
}

TEST_CASE("sums of squares are f64", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 2047, 2049, 70000, 1024 * 2048 + 5}) {
    const Floats x = numbers(count);
    double expected = 0;
    for (const float value : x) expected += double{value} * value;
    const OnDevice on(stream, x);
    const OnDevice partials(stream, std::vector<double>(kPartialSumsMax, 7)),
        result(stream, std::vector<double>{7});
    sum_of_squares({stream.handle, partials.get()}, on.get(), count, result.get());
    CHECK(result.read()[0] == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("a device draws the same dropout mask, bit for bit", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 3, 5, 1027, 4 * int{kBeyondGrid} + 2}) {
    const DropoutMask mask(0.3, "layer", {1, 2, 3});
    const auto& parts = mask.parts();
    const Floats x = numbers(count);
    Floats expected(x.size());
    mask.factors(0, count, expected.data());
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] *= x[i];
    const OnDevice on(stream, x), to(stream, Floats(x.size(), 7));
    drop(stream.handle, {parts.key, parts.stream, parts.dropped_below, parts.scale}, on.get(),
         to.get(), count);
    CHECK(same_bits(to.read(), expected));
  }
}

namespace {

struct Outcome {
  double sum = 0;
  std::int64_t correct = 0, top5 = 0;
  Floats gradient;
};

Outcome cross_entropy_of(const Floats& y, const std::vector<std::int32_t>& labels, double scale) {
  const TestStream stream;
  const auto samples = std::ssize(labels);
  const OnDevice on(stream, y), gradient(stream, Floats(y.size(), 7));
  const OnDevice classes(stream, labels);
  const OnDevice partials(stream, std::vector<char>(cross_entropy_partials_bytes(samples)));
  const OnDevice sum(stream, std::vector<double>{100});
  const OnDevice correct(stream, std::vector<std::int64_t>{10}),
      top5(stream, std::vector<std::int64_t>{1000});
  const CrossEntropyInput in{samples, std::ssize(y) / samples, on.get(), classes.get()};
  cross_entropy(stream.handle, in, partials.get(), {sum.get(), correct.get(), top5.get()});
  cross_entropy_gradient(stream.handle, in, scale, gradient.get());
  return {sum.read()[0] - 100, correct.read()[0] - 10, top5.read()[0] - 1000, gradient.read()};
}

Outcome expected_cross_entropy(const Floats& y, const std::vector<std::int32_t>& labels,
                               double scale) {
  Outcome outcome;
  const std::size_t classes = y.size() / labels.size();
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const float* const of = &y[n * classes];
    const auto label = static_cast<std::size_t>(labels[n]);
    const double largest = *std::max_element(of, of + classes);
    double sum = 0;
    int rank = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      sum += std::exp(of[c] - largest);
      rank += !(c < label ? of[label] > of[c] : of[label] >= of[c]);
    }
    outcome.sum += largest + std::log(sum) - of[label];
    outcome.correct += rank == 0;
    outcome.top5 += rank < 5;
    for (std::size_t c = 0; c < classes; ++c)
      outcome.gradient.push_back(static_cast<float>(
          scale * (std::exp(of[c] - largest - std::log(sum)) - (c == label ? 1 : 0))));
  }
  return outcome;
}

}  // namespace

TEST_CASE("cross entropy, its gradient and its right answers", "[device]") {
  if (!has_device()) return;
  const std::pair<int, int> shapes[] = {{1, 1},   {5, 2},   {4, 10},  {2, 255},
                                        {3, 256}, {3, 257}, {2, 999}, {2500, 2}};
  for (const auto& [samples, classes] : shapes) {
    Floats y = numbers(samples * classes);
    std::vector<std::int32_t> labels;
    for (int n = 0; n < samples; ++n) {
      labels.push_back(n * 7 % classes);
      if (n % 2 == 0) y[n * classes + labels[n]] = 9;  // right
    }
    const Outcome is = cross_entropy_of(y, labels, 0.5),
                  should = expected_cross_entropy(y, labels, 0.5);
    CHECK(is.sum == Approx(should.sum));
    CHECK(is.correct == should.correct);
    CHECK(is.top5 == should.top5);
    CHECK(difference(is.gradient, should.gradient) < 1e-6);
  }
}

TEST_CASE("cross entropy of equal, huge and broken outputs", "[device]") {
  if (!has_device()) return;
  CHECK(cross_entropy_of({4, 4, 4}, {0}, 1).correct == 1);
  CHECK(cross_entropy_of({4, 4, 4}, {1}, 1).correct == 0);
  CHECK(cross_entropy_of({-3e38f, 3e38f, 0}, {1}, 1).sum == 0);
  CHECK(cross_entropy_of({1e4f, -1e4f, 0}, {2}, 1).sum == Approx(1e4));
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Floats& y : {Floats{kNan, 1, 0}, Floats{1, kNan, 0}, Floats{1, 0, kNan},
                          Floats{kNan, kNan, kNan}, Floats{infinity, 0, 0}})
    CHECK(std::isnan(cross_entropy_of(y, {0}, 1).sum));
  CHECK(cross_entropy_of({kNan, 1, 1}, {0}, 1).correct == 0);
  CHECK(cross_entropy_of({1, kNan, 0}, {0}, 1).correct == 0);
}

TEST_CASE("mse is averaged over a sample and added to the result", "[device]") {
  if (!has_device()) return;
  const TestStream stream;
  const std::pair<int, int> shapes[] = {{1, 1}, {3, 85}, {2, 257}, {7, 10000}};
  for (const auto& [samples, elements] : shapes) {
    const Floats y = numbers(samples * elements), t = numbers(samples * elements, 1);
    double squares = 0;
    Floats expected;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double d = double{y[i]} - t[i];
      squares += d * d;
      expected.push_back(static_cast<float>(2 * 3.0 / elements * d));
    }
    const OnDevice on(stream, y), targets(stream, t), gradient(stream, Floats(y.size(), 7));
    const MseInput in{samples, elements, on.get(), targets.get()};
    const OnDevice partials(stream, std::vector<char>(mse_partials_bytes(in)));
    const OnDevice sum(stream, std::vector<double>{100});
    const OnDevice correct(stream, std::vector<std::int64_t>{10});
    mse(stream.handle, in, partials.get(), {sum.get(), correct.get(), correct.get()});
    mse_gradient(stream.handle, in, 3, gradient.get());
    CHECK(sum.read()[0] == Approx(100 + squares / elements).epsilon(1e-12));
    CHECK(correct.read()[0] == 10);
    CHECK(difference(gradient.read(), expected) < 1e-6);
  }
}

namespace {

struct ParameterState {
  Floats weights, made, first, second, delta, corrected;
};

// What a step makes of a state, by the device and by `one(state, i, gradient)`.
template <class Step, class One>
void check_step(const Step& step, bool in_place, bool keeps_delta, One one) {
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 777}) {
    ParameterState s{numbers(count),    numbers(count, 1), numbers(count, 2),
                     numbers(count, 3), numbers(count, 4), numbers(count, 5)};
    for (float& v : s.second) v = std::abs(v);
    const Floats gradient = numbers(count, 6);
    const OnDevice w(stream, s.weights), g(stream, gradient), made(stream, s.made),
        first(stream, s.first), second(stream, s.second), delta(stream, s.delta),
        corrected(stream, s.corrected);
    const Parameters p{.elements = count,
                       .weights = w.get(),
                       .gradient = g.get(),
                       .new_weights = in_place ? w.get() : made.get(),
                       .first_moment = first.get(),
                       .second_moment = second.get(),
                       .delta = keeps_delta ? delta.get() : nullptr,
                       .corrected = keeps_delta ? corrected.get() : nullptr};
    if constexpr (std::is_same_v<Step, SgdStep>)
      sgd(stream.handle, step, p);
    else
      adam(stream.handle, step, p);
    for (std::size_t i = 0; i < s.weights.size(); ++i) {
      s.made[i] = one(s, i, gradient[i]);
      if (!keeps_delta) continue;
      s.delta[i] = step.delta.decay * s.delta[i] + step.delta.rest * (s.made[i] - s.weights[i]);
      s.corrected[i] = s.made[i] - step.delta.correction * s.delta[i];
    }
    CHECK(difference((in_place ? w : made).read(), s.made) < 1e-6);
    if (!in_place) CHECK(same_bits(w.read(), s.weights));
    CHECK(difference(first.read(), s.first) < 1e-6);
    CHECK(difference(second.read(), s.second) < 1e-6);
    CHECK(difference(delta.read(), s.delta) < 1e-6);
    CHECK(difference(corrected.read(), s.corrected) < 1e-6);
  }
}

}  // namespace

TEST_CASE("a step by sgd", "[device]") {
  if (!has_device()) return;
  for (const auto kind : {SgdStep::Plain, SgdStep::Momentum, SgdStep::Nesterov})
    for (const bool flag : {false, true}) {
      const SgdStep step{kind, 0.1f, 0.5f, 0.9f, 2, {0.75f, 0.25f, 3}};
      check_step(step, flag, !flag, [&](ParameterState& s, std::size_t i, float gradient) {
        float g = 2 * gradient + 0.5f * s.weights[i];
        if (kind == SgdStep::Plain) return s.weights[i] - 0.1f * g;
        s.first[i] = 0.9f * s.first[i] + g;
        return s.weights[i] -
               0.1f * (kind == SgdStep::Nesterov ? g + 0.9f * s.first[i] : s.first[i]);
      });
    }
}

TEST_CASE("a step by adam", "[device]") {
  if (!has_device()) return;
  for (const bool flag : {false, true}) {
    const AdamStep step{
        2, 0.5f, 0.99f, 0.8f, 0.2f, 0.9f, 0.1f, 0.01f, 1.25f, 0.125f, {0.75f, 0.25f, 3}};
    check_step(step, flag, flag, [&](ParameterState& s, std::size_t i, float gradient) {
      const float g = 2 * gradient + 0.5f * s.weights[i];
      s.first[i] = 0.8f * s.first[i] + 0.2f * g;
      s.second[i] = 0.9f * s.second[i] + 0.1f * g * g;
      return 0.99f * s.weights[i] - 0.01f * s.first[i] / (std::sqrt(s.second[i]) * 1.25f + 0.125f);
    });
  }
}
