// The update rules against values worked out by hand from PyTorch's documented formulas.
#include <array>
#include <cmath>

#include "cases.hpp"
#include "catch.hpp"
#include "device_memory.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct State {
  Floats weights, first, second;
};

void step(Backend& backend, UpdateRule rule, std::int64_t count, const Floats& gradient, State& s) {
  rule.step = count;
  DeviceMemory device(backend);
  float *const weights = device.put(s.weights), *const first = device.put(s.first),
               *const second = device.put(s.second);
  device.stream().apply(rule, {.elements = std::ssize(s.weights),
                               .weights = weights,
                               .new_weights = weights,
                               .gradient = device.put(gradient),
                               .first_moment = first,
                               .second_moment = second});
  s.weights = device.get(weights, s.weights.size());
  s.first = device.get(first, s.first.size());
  s.second = device.get(second, s.second.size());
}

}  // namespace

TEST_CASE("sgd without momentum needs no velocity", "[update][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  State s{{1, -2, 3}, {}, {}};
  step(*backend, {.lr = 0.1, .weight_decay = 0.5, .gradient_scale = 2}, 1, {1, 0, -1}, s);
  // w - lr (2 g + w / 2)
  CHECK(difference(s.weights, {0.75f, -1.9f, 3.05f}) < 1e-6);
}

TEST_CASE("sgd with momentum, and nesterov", "[update][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const UpdateRule rule{.lr = 0.1, .momentum = 0.9};
  State s{{1}, {0}, {}};
  step(*backend, rule, 1, {1}, s);  // v = 1
  CHECK(s.weights[0] == Approx(0.9));
  step(*backend, rule, 2, {2}, s);  // v = 0.9 + 2
  CHECK(s.first[0] == Approx(2.9));
  CHECK(s.weights[0] == Approx(0.61));

  UpdateRule nesterov = rule;
  nesterov.nesterov = true;
  State n{{1}, {0}, {}};
  step(*backend, nesterov, 1, {1}, n);  // g + 0.9 v = 1.9
  CHECK(n.weights[0] == Approx(0.81));
  step(*backend, nesterov, 2, {2}, n);  // 2 + 0.9 * 2.9 = 4.61
  CHECK(n.weights[0] == Approx(0.349));
}

TEST_CASE("adam corrects its bias and decays through the gradient", "[update][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const UpdateRule rule{.kind = UpdateRule::Kind::Adam, .lr = 0.01, .weight_decay = 0.5};
  State s{{2}, {0}, {0}};
  step(*backend, rule, 1, {3}, s);  // g = 3 + 1: the first step is lr sign(g)
  CHECK(s.weights[0] == Approx(1.99));
  CHECK(s.first[0] == Approx(0.4));
  CHECK(s.second[0] == Approx(0.016));
  step(*backend, rule, 2, {-1}, s);  // g = -1 + 0.995
  const double g = -0.005, m = 0.9 * 0.4 + 0.1 * g, v = 0.999 * 0.016 + 0.001 * g * g;
  CHECK(s.weights[0] == Approx(1.99 - 0.01 * (m / 0.19) / (std::sqrt(v / 0.001999) + 1e-8)));
}

TEST_CASE("adamw decays the weight apart from the gradient", "[update][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const UpdateRule rule{.kind = UpdateRule::Kind::AdamW,
                        .lr = 0.01,
                        .weight_decay = 0.5,
                        .beta1 = 0.8,
                        .beta2 = 0.9,
                        .eps = 1};
  State s{{2}, {0}, {0}};
  step(*backend, rule, 1, {3}, s);  // 2 (1 - 0.005) - 0.01 * 3 / (3 + eps)
  CHECK(s.weights[0] == Approx(1.99 - 0.0075));
  CHECK(s.first[0] == Approx(0.6));
  CHECK(s.second[0] == Approx(0.9));
}

TEST_CASE("an update may write to another version's memory and then leaves the live one alone",
          "[update][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  DeviceMemory device(*backend);
  float *const live = device.put(Floats(1000, 1.0f)), *const next = device.put(Floats(1000, -7.0f));
  device.stream().apply({.lr = 0.2}, {.elements = 1000,
                                      .weights = live,
                                      .new_weights = next,
                                      .gradient = device.put(Floats(1000, 0.5f)),
                                      .first_moment = nullptr,
                                      .second_moment = nullptr});
  CHECK(device.get(live, 1000) == Floats(1000, 1.0f));
  CHECK(difference(device.get(next, 1000), Floats(1000, 0.9f)) < 1e-6);
}

TEST_CASE("every backend updates as the reference does", "[update][backends]") {
  const auto reference = make_backend("reference");
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const Task task =
      make_task(make_graph({37}, {{"fc", Linear{.out_features = 53}, {53}}}), 1, Mode::Train);
  const Floats& weights = task.weighting.parameters.at("fc.weight");
  const auto size = weights.size();
  using Kind = UpdateRule::Kind;
  for (const Kind kind : {Kind::Sgd, Kind::Adam, Kind::AdamW}) {
    const UpdateRule rule{.kind = kind,
                          .lr = 0.01,
                          .momentum = 0.9,
                          .weight_decay = 0.01,
                          .nesterov = true,
                          .gradient_scale = 0.7};
    State a{weights, Floats(size, 0.0f), Floats(size, 0.0f)}, b = a;
    for (std::int64_t count = 1; count <= 5; ++count) {
      Floats gradient = weights;
      for (float& g : gradient) g = g * static_cast<float>(count) - 0.3f;
      step(*backend, rule, count, gradient, a);
      step(*reference, rule, count, gradient, b);
    }
    CHECK(difference(a.weights, b.weights) < 1e-6);
    CHECK(difference(a.first, b.first) < 1e-6);
    CHECK(difference(a.second, b.second) < 1e-6);
  }
}

TEST_CASE("parts are added up in their order, and each becomes the sum", "[update][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  // (1e8 + 1) - 1e8 is 0 in f32, (1e8 - 1e8) + 1 is 1.
  Floats b(5000, 1);
  b[4999] = 64;
  DeviceMemory device(*backend);
  const std::array parts{device.put(Floats(5000, 1e8f)), device.put(b),
                         device.put(Floats(5000, -1e8f))};
  device.stream().add_up({.elements = 5000, .parts = parts});
  const Floats sum = device.get(parts[0], 5000);
  CHECK(sum[0] == 0);
  CHECK(sum[4999] == 64);
  CHECK(device.get(parts[1], 5000) == sum);
  CHECK(device.get(parts[2], 5000) == sum);
}
