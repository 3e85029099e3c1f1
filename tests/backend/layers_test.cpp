// Every layer and small chains of them: the reference backend against finite differences, every
// other backend against the reference.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/element.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "cases.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::vector<Case> all_cases() {
  auto cases = layer_cases();
  for (Case& chain : chain_cases()) cases.push_back(std::move(chain));
  return cases;
}

double loss_of(Backend& backend, Task task) {
  task.mode = Mode::Train;
  double sum = 0;
  for (const auto& microbatch : run(backend, task).microbatches) sum += microbatch.loss.sum;
  return sum;
}

// Central differences of the loss with respect to some elements of `values`, which is a part of
// `task`.
void check_slopes(Backend& backend, Task& task, Floats& values, const Floats& gradient) {
  constexpr float step = 1e-3f;
  REQUIRE(values.size() == gradient.size());
  double largest = 0;
  for (const float g : gradient) largest = std::max(largest, std::fabs(double{g}));
  Random random(5, "which elements");
  for (std::size_t n = 0; n < std::min<std::size_t>(values.size(), 12); ++n) {
    const std::size_t i = random.below(values.size());
    const float kept = values[i];
    const float above = kept + step, below = kept - step;
    values[i] = above;
    const double high = loss_of(backend, task);
    values[i] = below;
    const double low = loss_of(backend, task);
    values[i] = kept;
    INFO("element " << i << " of " << values.size());
    CHECK((high - low) / (double{above} - below) ==
          Approx(gradient[i]).margin(5e-3 * largest + 1e-6));
  }
}

// relu and max_pool inside a chain have kinks that the chosen inputs do not keep clear of.
bool is_smooth(const Graph& graph) {
  return graph.layers.size() == 1 ||
         std::none_of(graph.layers.begin(), graph.layers.end(), [](const Layer& layer) {
           return std::holds_alternative<Relu>(layer.spec) ||
                  std::holds_alternative<MaxPool>(layer.spec);
         });
}

}  // namespace

TEST_CASE("reference: both backward halves are the slopes of the forward", "[backend]") {
  const auto backend = make_backend("reference");
  for (const Case& c : all_cases()) {
    if (c.mode == Mode::Evaluate || !is_smooth(c.graph)) continue;
    INFO(c.name);
    Task task = make_task(c.graph, c.samples, c.mode);
    const Outcome outcome = run(*backend, task);
    if (c.graph.input.vocabulary == 0)
      check_slopes(*backend, task, task.microbatches[0].input,
                   outcome.microbatches[0].input_gradient);
    for (const auto& [name, gradient] : outcome.gradients) {
      INFO(name);
      check_slopes(*backend, task, task.weighting.parameters.at(name), gradient);
    }
  }
}

TEST_CASE("every backend agrees with the reference", "[backend][backends]") {
  const auto reference = make_backend("reference");
  const std::string name = GENERATE(from_range(backend_names()));
  const auto backend = make_backend(name);
  constexpr double tolerance = 1e-5;
  for (const Case& c : all_cases()) {
    INFO(name << ", " << c.name);
    const Task task = make_task(c.graph, c.samples, c.mode, 3);  // three micro-batches in flight
    const Outcome ours = run(*backend, task), theirs = run(*reference, task);
    for (std::size_t m = 0; m < task.microbatches.size(); ++m) {
      INFO("micro-batch " << m);
      const auto &a = ours.microbatches[m], &b = theirs.microbatches[m];
      CHECK(difference(a.output, b.output) <= tolerance);
      CHECK(a.loss.sum == Approx(b.loss.sum).epsilon(tolerance));
      CHECK(a.loss.correct == b.loss.correct);
      CHECK(difference(a.output_gradient, b.output_gradient) <= tolerance);
      CHECK(difference(a.input_gradient, b.input_gradient) <= tolerance);
    }
    for (const auto& [parameter, gradient] : theirs.gradients) {
      INFO(parameter);
      CHECK(difference(ours.gradients.at(parameter), gradient) <= tolerance);
      // Everything stored besides the parameter's own values must be 0, or clipping would be wrong.
      CHECK(ours.squares.at(parameter) == Approx(theirs.squares.at(parameter)).epsilon(1e-4));
    }
    for (const auto& [buffer, values] : theirs.buffers) {
      INFO(buffer);
      CHECK(difference(ours.buffers.at(buffer), values) <= tolerance);
    }
  }
}

// Weights that bf16 holds exactly are the same to a kernel that rounds them and to one that does
// not.
void round_weights(Task& task) {
  for (auto& [name, values] : task.weighting.parameters)
    for (float& value : values) value = cpu::to_float(cpu::from_float<cpu::Bf16>(value));
}

// The gradients of a softmax's scores add up to 0, and so, nearly, do those of what all scores of
// an additive attention share: little is left of those sums but rounding errors.
bool nearly_cancels(const Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const Layer& layer) {
    return std::holds_alternative<AdditiveAttention>(layer.spec);
  });
}

// In a chain a rounded value may fall on the other side of a relu's kink, or win a window: there
// the reference rounds its values too, and its gradients are those of the same choices.
TEST_CASE("cpu: bf16 agrees with the reference", "[backend]") {
  const auto products = GENERATE(cpu::Products::F32, cpu::Products::Bf16, cpu::Products::Tiles);
  if (products != cpu::Products::F32 && !cpu::can_multiply_bf16()) {
    WARN("skipped: oneDNN multiplies no bf16 on this machine");
    return;
  }
  const auto reference = make_backend("reference"), backend = make_cpu_backend(products);
  constexpr double tolerance = 2e-2;
  for (const Case& c : all_cases()) {
    INFO(c.name << ", products " << static_cast<int>(products));
    Task task = make_task(c.graph, c.samples, c.mode, 3);
    round_weights(task);
    const Outcome in_f32 = run(*reference, task);
    task.rounds_values = !is_smooth(c.graph) || nearly_cancels(c.graph);
    const Outcome theirs = run(*reference, task);
    task.rounds_values = false;
    task.precision = Precision::Bf16;
    const Outcome ours = run(*backend, task);
    for (std::size_t m = 0; m < task.microbatches.size(); ++m) {
      INFO("micro-batch " << m);
      const auto &a = ours.microbatches[m], &b = theirs.microbatches[m];
      CHECK(difference(a.output, in_f32.microbatches[m].output) <= tolerance);
      CHECK(a.loss.sum == Approx(in_f32.microbatches[m].loss.sum).epsilon(tolerance));
      CHECK(difference(a.output_gradient, b.output_gradient) <= tolerance);
      CHECK(difference(a.input_gradient, b.input_gradient) <= tolerance);
    }
    for (const auto& [parameter, gradient] : theirs.gradients) {
      INFO(parameter);
      CHECK(difference(ours.gradients.at(parameter), gradient) <= tolerance);
    }
    for (const auto& [buffer, values] : in_f32.buffers) {
      INFO(buffer);
      CHECK(difference(ours.buffers.at(buffer), values) <= tolerance);
    }
  }
}

TEST_CASE("a backend without bf16 says so", "[backend]") {
  const Case c = layer_cases()[0];
  try {
    make_backend("reference")->lower(c.graph, {.precision = Precision::Bf16});
    FAIL("bf16 was lowered");
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find("training.precision = \"f32\"") != std::string::npos);
  }
}

TEST_CASE("kernels for other sample counts come from the same lowering", "[backend][backends]") {
  const auto reference = make_backend("reference");
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  for (const Case& c : chain_cases())
    for (const int samples : {1, 5}) {
      if (samples == 1 && c.name == "linear batch_norm relu") continue;  // one value per channel
      INFO(c.name << ", samples " << samples);
      Task task = make_task(c.graph, samples, c.mode);
      task.lowered_samples = 4;
      const Outcome ours = run(*backend, task), theirs = run(*reference, task);
      CHECK(difference(ours.microbatches[0].output, theirs.microbatches[0].output) <= 1e-5);
      for (const auto& [parameter, gradient] : theirs.gradients)
        CHECK(difference(ours.gradients.at(parameter), gradient) <= 1e-5);
    }
}

TEST_CASE("gradients over micro-batches are the sum of each one's", "[backend][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  for (const Case& c : layer_cases()) {
    if (c.mode == Mode::Evaluate) continue;
    INFO(c.name);
    Task task = make_task(c.graph, c.samples, c.mode, 2);
    const Outcome both = run(*backend, task);
    const auto microbatches = task.microbatches;
    task.microbatches = {microbatches[0]};
    const Outcome first = run(*backend, task);
    task.microbatches = {microbatches[1]};
    const Outcome second = run(*backend, task);
    for (const auto& [parameter, gradient] : both.gradients) {
      Floats sum = first.gradients.at(parameter);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += second.gradients.at(parameter)[i];
      CHECK(difference(gradient, sum) <= 1e-6);
    }
  }
}
