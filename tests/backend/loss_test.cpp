// The two losses by hand values, at extreme outputs, and what they refuse.
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "cases.hpp"
#include "catch.hpp"

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

TEST_CASE("cross_entropy of a sequence has a label a position", "[loss][backends]") {
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

TEST_CASE("a label beyond the outputs is the user's to mend", "[loss]") {
  for (const std::int32_t label : {-1, 3})
    CHECK_THROWS_AS(loss_of("reference", Loss::CrossEntropy, 3,
                            {.input = {0, 0, 0}, .values = {}, .classes = {label}, .random = {}}),
                    DataError);
}

TEST_CASE("mse is the mean over a sample's elements, summed over samples", "[loss][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto outcome =
      loss_of(name, Loss::Mse, 2,
              {.input = {1, 2, 3, 4}, .values = {0, 0, 3, 2}, .classes = {}, .random = {}}, 3);
  CHECK(outcome.loss.sum == Approx((1 + 4) / 2.0 + (0 + 4) / 2.0));
  CHECK(difference(outcome.output_gradient, {3, 6, 0, 6}) < 1e-6);
}
