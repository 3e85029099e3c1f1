// The device code of a language model's layers except attention, by hand and against plain loops:
// layer_norm, gelu, embedding, positions, concat.
#include <tuple>

#include "../../catch.hpp"
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/elementwise_functions.hpp"
#include "backend/cuda/device/embedding.hpp"
#include "backend/cuda/device/layer_norm.hpp"
#include "backend/cuda/device/positions.hpp"
#include "device_values.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::cuda;
using namespace pipetrain::testing;

namespace {

struct Normalised {
  Floats y, dx, dgamma, dbeta;
};

Normalised on_device(const Rows& size, const Floats& x, const Floats& dy, const Floats& gamma,
                     const Floats& beta, bool accumulate = false) {
  const TestStream stream;
  const OnDevice on_x(stream, x), on_dy(stream, dy), on_gamma(stream, gamma), on_beta(stream, beta),
      y(stream, Floats(x.size(), 7)), dx(stream, Floats(x.size(), 7)),
      dgamma(stream, Floats(gamma.size(), 1)), dbeta(stream, Floats(beta.size(), 1));
  const OnDevice statistics(stream,
                            std::vector<RowStatistics>(static_cast<std::size_t>(size.rows)));
  const OnDevice partials(stream, std::vector<char>(layer_norm_partials_bytes(size)));
  layer_norm(stream.handle, {.size = size,
                             .x = on_x.get(),
                             .gamma = on_gamma.get(),
                             .beta = beta.empty() ? nullptr : on_beta.get(),
                             .eps = 1e-5,
                             .statistics = statistics.get(),
                             .y = y.get()});
  const LayerNormBackward in{size, on_x.get(), on_dy.get(), statistics.get()};
  layer_norm_input_gradient(stream.handle, in, on_gamma.get(), dx.get());
  layer_norm_parameter_gradients(stream.handle, in, partials.get(),
                                 {dgamma.get(), beta.empty() ? nullptr : dbeta.get(), accumulate});
  return {y.read(), dx.read(), dgamma.read(), dbeta.read()};
}

Normalised expected(const Rows& size, const Floats& x, const Floats& dy, const Floats& gamma,
                    const Floats& beta) {
  const auto columns = static_cast<std::size_t>(size.columns);
  Normalised e{Floats(x.size()), Floats(x.size()), {}, {}};
  std::vector<double> dgamma(columns), dbeta(beta.size());
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double mean = 0, variance = 0, sum = 0, product = 0;
    for (std::size_t c = 0; c < columns; ++c) mean += x[first + c] / double(columns);
    for (std::size_t c = 0; c < columns; ++c)
      variance += std::pow(x[first + c] - mean, 2) / double(columns);
    const double scale = 1 / std::sqrt(variance + 1e-5);
    const auto normal = [&](std::size_t c) { return (x[first + c] - mean) * scale; };
    for (std::size_t c = 0; c < columns; ++c) {
      const double g = double{gamma[c]} * dy[first + c];
      sum += g / double(columns);
      product += g * normal(c) / double(columns);
      dgamma[c] += dy[first + c] * normal(c);
      if (!beta.empty()) dbeta[c] += dy[first + c];
      e.y[first + c] = static_cast<float>(normal(c) * gamma[c] + (beta.empty() ? 0 : beta[c]));
    }
    for (std::size_t c = 0; c < columns; ++c)
      e.dx[first + c] = static_cast<float>(
          scale * (double{gamma[c]} * dy[first + c] - sum - normal(c) * product));
  }
  e.dgamma.assign(dgamma.begin(), dgamma.end());
  e.dbeta.assign(dbeta.begin(), dbeta.end());
  return e;
}

}  // namespace

TEST_CASE("layer_norm of a row by hand; an even row is its bias", "[device][language]") {
  if (!has_device()) return;
  const Normalised n = on_device({2, 2}, {1, 3, 5, 5}, {1, 0, 0, 1}, {2, 3}, {10, 20});
  CHECK(difference(n.y, {8, 23, 10, 20}) < 1e-4);
  CHECK(difference(n.dgamma, {-1, 0}) < 1e-4);
  CHECK(difference(n.dbeta, {1, 1}) == 0);
  CHECK(std::abs(n.dx[0]) < 1e-4f);  // 2 - 1 - (-1)(-1): nothing is left of a row of two
}

TEST_CASE("layer_norm and its gradients equal plain loops", "[device][language]") {
  if (!has_device()) return;
  for (const Rows size : {Rows{1, 1}, Rows{3, 5}, Rows{9, 32}, Rows{8, 33}, Rows{70, 100},
                          Rows{1000, 3}, Rows{2, 1000}, Rows{300, 65}, Rows{17000, 2}}) {
    CAPTURE(size.rows, size.columns);
    Floats x = numbers(size.rows * size.columns);
    for (float& value : x) value = 3 * value + 50;  // a mean far from 0
    const Floats dy = numbers(size.rows * size.columns, 1), gamma = numbers(size.columns, 2),
                 beta = numbers(size.columns, 3);
    const Normalised is = on_device(size, x, dy, gamma, beta),
                     should = expected(size, x, dy, gamma, beta);
    CHECK(difference(is.y, should.y) < 1e-6);
    if (size.columns > 2) CHECK(difference(is.dx, should.dx) < 2e-6);
    CHECK(difference(is.dgamma, should.dgamma) < 1e-6);
    CHECK(difference(is.dbeta, should.dbeta) < 1e-6);
    const Normalised more = on_device(size, x, dy, gamma, {}, true);
    for (std::size_t c = 0; c < gamma.size(); ++c)
      CHECK(more.dgamma[c] == Approx(is.dgamma[c] + 1).margin(1e-5));
  }
}

TEST_CASE("gelu and its slope, by values of the normal distribution", "[device][language]") {
  if (!has_device()) return;
  const TestStream stream;
  const Floats x = {0, 1, -1, 2, -5, 10, -10, kNan}, ones(x.size(), 1.0f);
  // x Phi(x), Phi(x) + x phi(x); by the tanh: torch.nn.functional.gelu(approximate="tanh"), f64.
  const Floats exact = {0, 0.841344746f, -0.158655254f, 1.954499736f, -1.433257e-6f, 10, 0, kNan},
               exact_slope = {0.5f, 1.083315471f, -0.083315471f, 1.085231801f, -7.1469e-6f, 1,
                              0,    kNan},
               bent = {0, 0.841191991f, -0.158808009f, 1.954597694f, -2.2917e-7f, 10, 0, kNan},
               bent_slope = {0.5f, 1.082964084f, -0.082964084f, 1.086099254f, -1.546362e-6f, 1,
                             0,    kNan};
  const auto agree = [](const Floats& a, const Floats& b) {
    for (std::size_t i = 0; i + 1 < a.size(); ++i)
      CHECK(a[i] == Approx(b[i]).epsilon(1e-6).margin(1e-6));
    CHECK(std::isnan(a.back()));
  };
  for (const bool approximate : {false, true}) {
    const OnDevice on(stream, x), y(stream, ones), dx(stream, ones);
    const Gelu gelu{.tanh = approximate};
    apply_function(stream.handle, gelu, on.get(), y.get(), std::ssize(x));
    apply_slope(stream.handle, gelu, on.get(), dx.get(), dx.get(), std::ssize(x));
    agree(y.read(), approximate ? bent : exact);
    agree(dx.read(), approximate ? bent_slope : exact_slope);
  }
}

TEST_CASE("gelu of many values", "[device][language]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const std::int64_t count : {0, 1, 257, 2048 * 256 + 77}) {
    const Floats x = numbers(count);
    Floats expected = x;
    for (float& value : expected)
      value = static_cast<float>(value * 0.5 * std::erfc(-value / std::sqrt(2.0)));
    const OnDevice on(stream, x), y(stream, Floats(x.size(), 7));
    apply_function(stream.handle, Gelu{}, on.get(), y.get(), count);
    CHECK(difference(y.read(), expected) < 1e-6);
  }
}

namespace {

struct Embedded {
  Floats y, gradient;
};

Embedded embed_on_device(const std::vector<std::int32_t>& tokens, const Floats& weight,
                         const Floats& dy, const Floats* before, float scale = 1) {
  const TestStream stream;
  const std::int64_t columns = std::ssize(dy) / std::ssize(tokens);
  const OnDevice on(stream, tokens);
  const Tokens in{std::ssize(tokens), std::ssize(weight) / columns, on.get()};
  const OnDevice table(stream, weight), on_dy(stream, dy), y(stream, Floats(dy.size(), 7)),
      gradient(stream, before ? *before : Floats(weight.size(), 7));
  const OnDevice places(stream, std::vector<char>(embedding_places_bytes(in)));
  embed(stream.handle, in, {table.get(), columns, scale}, y.get());
  embedding_gradient(stream.handle, in, places.get(),
                     {on_dy.get(), columns, scale, gradient.get(), before != nullptr});
  return {y.read(), gradient.read()};
}

}  // namespace

TEST_CASE("an embedding's rows, and its gradient by hand", "[device][language]") {
  if (!has_device()) return;
  const std::vector<std::int32_t> tokens = {2, 0, 2, 3};
  const Floats weight = {1, 2, 3, 4, 5, 6, 7, 8}, dy = {1, 10, 2, 20, 4, 40, 8, 80},
               before(8, 100.0f);
  const Embedded first = embed_on_device(tokens, weight, dy, nullptr);
  CHECK(first.y == Floats{5, 6, 1, 2, 5, 6, 7, 8});
  CHECK(first.gradient == Floats{2, 20, 0, 0, 5, 50, 8, 80});
  CHECK(embed_on_device(tokens, weight, dy, &before).gradient ==
        Floats{102, 120, 100, 100, 105, 150, 108, 180});
  const Embedded scaled = embed_on_device(tokens, weight, dy, &before, 0.5f);
  CHECK(scaled.y == Floats{2.5f, 3, 0.5f, 1, 2.5f, 3, 3.5f, 4});
  CHECK(scaled.gradient == Floats{101, 110, 100, 100, 102.5f, 125, 104, 140});
}

TEST_CASE("an invalid token gives NaN, and no gradient", "[device][language]") {
  if (!has_device()) return;
  const Embedded of = embed_on_device({-1, 1, 2}, {1, 2}, {3, 4, 5}, nullptr);
  CHECK(same_bits(of.y, {kNan, 2, kNan}));
  CHECK(of.gradient == Floats{0, 4});
}

TEST_CASE("embeddings of many tokens, of large and small vocabularies", "[device][language]") {
  if (!has_device()) return;
  const std::tuple<int, int, int> sizes[] = {{1, 1, 1},     {255, 256, 3}, {256, 255, 2},
                                             {257, 600, 5}, {700, 5, 33},  {3, 5000, 1}};
  for (const auto& [count, vocabulary, columns] : sizes) {
    CAPTURE(count, vocabulary, columns);
    const Floats weight = numbers(std::int64_t{vocabulary} * columns),
                 dy = numbers(std::int64_t{count} * columns, 1);
    std::vector<std::int32_t> tokens;
    std::vector<double> sums(weight.size());
    Floats y;
    for (int i = 0; i < count; ++i) {
      tokens.push_back(static_cast<std::int32_t>(i * 7919LL % vocabulary));
      for (int c = 0; c < columns; ++c) {
        y.push_back(weight[tokens.back() * columns + c]);
        sums[tokens.back() * columns + c] += dy[i * columns + c];
      }
    }
    const Embedded is = embed_on_device(tokens, weight, dy, nullptr);
    CHECK(same_bits(is.y, y));
    CHECK(difference(is.gradient, Floats(sums.begin(), sums.end())) < 1e-6);
  }
}

TEST_CASE("sines and cosines of positions", "[device][language]") {
  if (!has_device()) return;
  const TestStream stream;
  const OnDevice table(stream, Floats(15, 7));
  sinusoids(stream.handle, 3, 5, table.get());  // an odd width ends with a sine
  const double slow = std::pow(10000, -0.4), slower = std::pow(10000, -0.8);
  Floats expected;
  for (const double t : {0, 1, 2})
    for (const double value :
         {std::sin(t), std::cos(t), std::sin(t * slow), std::cos(t * slow), std::sin(t * slower)})
      expected.push_back(static_cast<float>(value));
  CHECK(difference(table.read(), expected) < 1e-7);
}

TEST_CASE("a table is added to each sample", "[device][language]") {
  if (!has_device()) return;
  const TestStream stream;
  for (const Planes& of : {Planes{1, 1, 1}, Planes{3, 70, 1}, Planes{600, 900, 1}}) {
    const Floats x = numbers(of.elements()), term = numbers(of.channels, 1);
    Floats expected = x;
    each(of, [&](std::size_t i, std::size_t c) { expected[i] += term[c]; });
    const OnDevice on(stream, x), on_term(stream, term), y(stream, Floats(x.size(), 7));
    add_to_rows(stream.handle, on.get(), on_term.get(), of.samples, of.channels, y.get());
    CHECK(same_bits(y.read(), expected));
  }
}

TEST_CASE("a block of a matrix is copied and what surrounds it is left alone",
          "[device][language]") {
  if (!has_device()) return;
  const TestStream stream;
  const OnDevice from(stream, Floats{1, 2, 3, 4, 5, 6}), to(stream, Floats(8, 0.0f));
  copy_block(stream.handle, {from.get() + 1, 3}, {to.get() + 2, 4}, 2, 2);
  CHECK(to.read() == Floats{0, 0, 2, 3, 0, 0, 5, 6});
}
