// PipeMare on the real engine against its recurrence, written out here: T1, T2 and T3, each where
// it acts (delays above 1, delays that are no whole number, a switch in the middle).
#include <algorithm>
#include <cmath>

#include "backends.hpp"
#include "catch.hpp"
#include "order/order.hpp"
#include "semantics/engine.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

// Yang et al., arXiv 1910.05124, section 3, on a chain of scalar weights.
struct PipeMare {
  int microbatches = 1;    // N
  std::vector<int> ahead;  // of each stage: forwards before the first backward, N times its delay
  int anneal_steps = 0;    // T1; 0: off
  double decay = 0;        // T2, D; 0: off
  int synchronous = 0;     // T3: updates of plain SGD before the asynchronous ones

  double delay(std::size_t s) const { return 1. * ahead[s] / microbatches; }

  // T1 at update k after the switch.
  double factor(int k, std::size_t s) const {
    if (anneal_steps == 0) return 1;
    const double power = 1 - std::min(1., 1. * k / anneal_steps);
    return std::pow(std::max(1., delay(s)), -power);
  }

  double gamma(std::size_t s) const { return std::pow(decay, 1 / delay(s)); }

  std::vector<double> train(const ScalarTask& task) const {
    const int updates = static_cast<int>(std::ssize(task.inputs)) / microbatches;
    std::vector<double> start = task.weights;
    for (int k = 0; k < synchronous; ++k)
      start = updated(
          start, task, k, [&](int, std::size_t s) { return start[s]; }, start,
          [](std::size_t) { return 1; });

    std::vector<std::vector<double>> made = {start};  // by 0, 1, .. updates after the switch
    std::vector<double> delta(start.size(), 0);
    for (int k = 0; k < updates - synchronous; ++k) {
      const std::vector<double> newest = made.back();
      std::vector<double> corrected = newest;
      if (decay > 0)
        for (std::size_t s = 0; s < newest.size(); ++s) corrected[s] -= delay(s) * delta[s];
      // When stage s runs a forward, `ahead` micro-batches fewer have had their backward there.
      const auto forward = [&](int j, std::size_t s) {
        return made[static_cast<std::size_t>(std::max(0, k * microbatches + j - ahead[s]) /
                                             microbatches)][s];
      };
      made.push_back(updated(newest, task, synchronous + k, forward, corrected,
                             [&](std::size_t s) { return factor(k, s); }));
      for (std::size_t s = 0; s < newest.size(); ++s)
        if (decay > 0 && ahead[s] > 0)
          delta[s] = gamma(s) * delta[s] + (1 - gamma(s)) * (made.back()[s] - newest[s]);
    }
    return made.back();
  }

 private:
  // The weights after the update of a mini-batch: forward(j, s) is what its micro-batch j read on
  // stage s, `backward` what all of them read there.
  template <class Forward, class Factor>
  std::vector<double> updated(const std::vector<double>& weights, const ScalarTask& task,
                              int minibatch, Forward forward, const std::vector<double>& backward,
                              Factor rate_factor) const {
    std::vector<double> next = weights;
    for (int j = 0; j < microbatches; ++j) {
      const auto m = static_cast<std::size_t>(minibatch * microbatches + j);
      std::vector<double> read;
      for (std::size_t s = 0; s < weights.size(); ++s) read.push_back(forward(j, s));
      for (std::size_t s = 0; s < weights.size(); ++s)
        next[s] -=
            task.lr * rate_factor(s) / microbatches *
            scalar_gradient(read, backward, static_cast<int>(s), task.inputs[m], task.targets[m]);
    }
    return next;
  }
};

PipeMare pipemare(int stages, int microbatches, Warmup warmup) {
  PipeMare method{.microbatches = microbatches, .ahead = {}};
  for (int s = 0; s < stages; ++s)
    method.ahead.push_back(warmup == Warmup::Full ? 2 * (stages - 1 - s) + 1 : stages - 1 - s);
  return method;
}

// The engine computes `method`, which is far from `without`.
void check(const PipeMare& method, Warmup warmup, const PipeMare& without) {
  const int stages = static_cast<int>(method.ahead.size());
  const ScalarTask task = random_task(stages, 14 * method.microbatches);
  Config config;
  config.pipeline.schedule = "pipemare";
  config.pipeline.microbatches = method.microbatches;
  config.pipeline.warmup = warmup;
  config.pipeline.pipemare = {.anneal_steps = method.anneal_steps,
                              .decay = method.decay,
                              .sync_warmup_epochs = method.synchronous};
  const std::vector<double> expected = method.train(task), other = without.train(task);
  double far = 0;
  for (std::size_t s = 0; s < expected.size(); ++s)
    far = std::max(far, std::abs(other[s] - expected[s]));
  CHECK(far > 1e-3);
  for (const std::string& backend : testing::backend_names())
    for (const std::string workers : {"threads", "inline"}) {
      const std::vector<double> got = train_on_engine(config, task, {backend, workers});
      for (std::size_t s = 0; s < got.size(); ++s) {
        CAPTURE(stages, method.microbatches, s, backend, workers);
        CHECK(got[s] == Approx(expected[s]).epsilon(1e-5));
      }
    }
}

}  // namespace

TEST_CASE("T1 divides a stage's rate by its delay, less and less until anneal_steps",
          "[backends]") {
  for (const int n : {1, 2}) {
    PipeMare method = pipemare(3, n, Warmup::Full);  // delays 5 3 1, and 2.5 1.5 0.5
    const PipeMare without = method;
    method.anneal_steps = 9;
    check(method, Warmup::Full, without);
  }
}

TEST_CASE("T2 sets backwards back by the delay, with gamma = D^(1/delay)", "[backends]") {
  PipeMare method = pipemare(4, 1, Warmup::Full);  // delays 7 5 3 1
  const PipeMare without = method;
  method.decay = 0.3;
  check(method, Warmup::Full, without);
}

TEST_CASE("T2 takes a delay that is no whole number as it is", "[backends]") {
  for (const auto& [p, n] : {std::pair{3, 2}, {3, 4}, {2, 3}}) {
    PipeMare method = pipemare(p, n, Warmup::Full);
    const PipeMare without = method;
    method.decay = 0.135;
    check(method, Warmup::Full, without);
  }
}

TEST_CASE("T3: the switch starts from delta = 0, and T1 counts from it", "[backends]") {
  PipeMare method = pipemare(3, 1, Warmup::Full);
  method.anneal_steps = 6;
  method.decay = 0.3;
  const PipeMare without = method;
  method.synchronous = 5;
  check(method, Warmup::Full, without);
}
