// The two losses against values worked out by hand, at extreme outputs, and what they refuse.
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "cases.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// The loss of given outputs: they are the graph's input, and its one layer does nothing.
MicrobatchOutcome loss_of(const std::string& backend, Loss loss, std::int64_t elements,
                          Microbatch microbatch, double scale = 1) {
  Task task;
  task.graph = make_graph({elements}, {{"same", Identity{}, {elements}}}, loss);
  task.samples = static_cast<int>(std::ssize(microbatch.input) / elements);
  task.loss_scale = scale;
  task.microbatches = {std::move(microbatch)};
  return run(*make_backend(backend), task).microbatches[0];
}

}  // namespace

TEST_CASE("cross_entropy is summed over samples; its gradient is softmax minus one-hot",
          "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float ln2 = std::log(2.0f), ln5 = std::log(5.0f);
  // softmax: [1, 2, 5] / 8 and [1, 1, 1] / 3
  const auto outcome = loss_of(
      name, Loss::CrossEntropy, 3,
      {.input = {0, ln2, ln5, 4, 4, 4}, .values = {}, .classes = {2, 1}, .random = {}}, 0.5);
  CHECK(outcome.loss.sum == Approx(std::log(8.0 / 5) + std::log(3.0)));
  CHECK(outcome.loss.correct == 1);  // of three equal outputs the first wins, and it is not class 1
  CHECK(difference(outcome.output_gradient,
                   {0.5f / 8, 1.0f / 8, -1.5f / 8, 0.5f / 3, -1.0f / 3, 0.5f / 3}) < 1e-6);
}

TEST_CASE("cross_entropy of huge outputs stays finite", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto outcome = loss_of(
      name, Loss::CrossEntropy, 3,
      {.input = {1e4f, -1e4f, 0, -3e38f, 3e38f, 0}, .values = {}, .classes = {2, 1}, .random = {}});
  CHECK(outcome.loss.sum == Approx(1e4));
  CHECK(outcome.loss.correct == 1);
  CHECK(difference(outcome.output_gradient, {1, 0, -1, 0, 0, 0}) < 1e-6);
}

TEST_CASE("cross_entropy counts labels among the five largest", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto hits = [&](std::int32_t label) {
    const auto outcome =
        loss_of(name, Loss::CrossEntropy, 7,
                {.input = {1, 2, 3, 4, 5, 5, 7}, .values = {}, .classes = {label}, .random = {}});
    return std::pair(outcome.loss.correct, outcome.loss.correct_top5);
  };
  CHECK(hits(6) == std::pair<std::int64_t, std::int64_t>(1, 1));
  CHECK(hits(2) == std::pair<std::int64_t, std::int64_t>(0, 1));
  CHECK(hits(1) == std::pair<std::int64_t, std::int64_t>(0, 0));
}

TEST_CASE("cross_entropy of a sequence has a label for each position", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float ln3 = std::log(3.0f);
  Task task;
  task.graph = make_graph({2, 2}, {{"same", Identity{}, {2, 2}}}, Loss::CrossEntropy);
  task.microbatches = {{.input = {0, ln3, 1, 1}, .values = {}, .classes = {1, 0}, .random = {}}};
  const auto outcome = run(*make_backend(name), task).microbatches[0];
  CHECK(outcome.loss.sum == Approx(std::log(4.0 / 3) + std::log(2.0)));
  CHECK(outcome.loss.correct == 2);
  CHECK(difference(outcome.output_gradient, {0.25f, -0.25f, -0.5f, 0.5f}) < 1e-6);
}

TEST_CASE("a NaN output is never a right answer", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto outcome =
      loss_of(name, Loss::CrossEntropy, 2,
              {.input = {nan, 1, 1, nan}, .values = {}, .classes = {0, 0}, .random = {}});
  CHECK(std::isnan(outcome.loss.sum));
  CHECK(outcome.loss.correct == 0);
}

TEST_CASE("a label beyond the outputs is an error of the data", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  for (const std::int32_t label : {-2, 3})
    CHECK_THROWS_AS(loss_of(name, Loss::CrossEntropy, 3,
                            {.input = {0, 0, 0}, .values = {}, .classes = {label}, .random = {}}),
                    DataError);
}

TEST_CASE("a position without a label adds no loss, count or gradient", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float nan = std::numeric_limits<float>::quiet_NaN(), ln3 = std::log(3.0f);
  Task task;
  task.graph = make_graph({3, 2}, {{"same", Identity{}, {3, 2}}}, Loss::CrossEntropy);
  task.microbatches = {
      {.input = {9, 1, 0, ln3, nan, 1}, .values = {}, .classes = {-1, 1, -1}, .random = {}}};
  for (const double smoothing : {0.0, 0.5}) {
    task.graph.label_smoothing = smoothing;
    const auto outcome = run(*make_backend(name), task).microbatches[0];
    // Half of a half goes to the other class, whose output is less by log 3.
    CHECK(outcome.loss.sum == Approx(std::log(4.0 / 3) + smoothing / 2 * std::log(3.0)));
    CHECK(outcome.loss.correct == 1);
    CHECK(outcome.loss.correct_top5 == 1);
    const auto moved = static_cast<float>(smoothing / 2);
    CHECK(difference(outcome.output_gradient, {0, 0, 0.25f - moved, moved - 0.25f, 0, 0}) < 1e-6);
    for (const std::size_t i : {0, 1, 4, 5}) CHECK(outcome.output_gradient[i] == 0);
  }
}

TEST_CASE("smoothed labels: the loss of every class has its share", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  constexpr std::int64_t classes = 37;
  constexpr double smoothing = 0.1;
  Task task;
  task.graph = make_graph({classes}, {{"same", Identity{}, {classes}}}, Loss::CrossEntropy);
  task.graph.label_smoothing = smoothing;
  task.samples = 2;
  task.loss_scale = 3;
  Microbatch& m = task.microbatches.emplace_back();
  for (int i = 0; i < 2 * classes; ++i) m.input.push_back(static_cast<float>(i * 31 % 23) / 7);
  m.classes = {5, 36};
  double loss = 0;
  Floats gradient;
  for (std::size_t n = 0; n < 2; ++n) {
    const float* const y = m.input.data() + n * classes;
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(double{y[c]});
    for (int c = 0; c < classes; ++c) {
      const double share = smoothing / classes + (c == m.classes[n] ? 1 - smoothing : 0);
      loss += share * (std::log(sum) - y[c]);
      gradient.push_back(static_cast<float>(3 * (std::exp(double{y[c]}) / sum - share)));
    }
  }
  const auto outcome = run(*make_backend(name), task).microbatches[0];
  CHECK(outcome.loss.sum == Approx(loss).epsilon(1e-6));
  CHECK(difference(outcome.output_gradient, gradient) < 1e-6);
}

// Some positions have a label and some do not.
TEST_CASE("the gradient of smoothed cross_entropy is the slope of its loss", "[loss]") {
  const auto backend = make_backend("reference");
  Graph graph = make_graph({4, 6}, {{"fc", Linear{.out_features = 5}, {4, 5}}}, Loss::CrossEntropy);
  graph.label_smoothing = 0.2;
  Task task = make_task(graph, 2, Mode::Train);
  task.microbatches[0].classes[1] = task.microbatches[0].classes[6] = -1;
  const Floats gradient = run(*backend, task).microbatches[0].input_gradient;
  Floats& input = task.microbatches[0].input;
  for (std::size_t i = 0; i < input.size(); i += 5) {
    const auto loss_at = [&](float value) {
      const float kept = std::exchange(input[i], value);
      const double loss = run(*backend, task).microbatches[0].loss.sum;
      input[i] = kept;
      return loss;
    };
    const float above = input[i] + 1e-3f, below = input[i] - 1e-3f;
    CHECK((loss_at(above) - loss_at(below)) / (double{above} - below) ==
          Approx(gradient[i]).margin(1e-3));
  }
}

TEST_CASE("mse is the mean over a sample's elements, summed over samples", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto outcome =
      loss_of(name, Loss::Mse, 2,
              {.input = {1, 2, 3, 4}, .values = {0, 0, 3, 2}, .classes = {}, .random = {}}, 3);
  CHECK(outcome.loss.sum == Approx((1 + 4) / 2.0 + (0 + 4) / 2.0));
  CHECK(difference(outcome.output_gradient, {3, 6, 0, 6}) < 1e-6);
}
