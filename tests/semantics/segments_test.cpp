// PipeMare-Recompute on the real engine against its recurrence, written out here: recompute =
// "segments", with weights of three ages in one gradient.
#include <algorithm>
#include <cmath>

#include "backends.hpp"
#include "catch.hpp"
#include "semantics/engine.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

// Yang et al., arXiv 1910.05124, section 3 and its recomputation, on a chain of scalar weights
// under the full warm-up.
struct Segments {
  int stages = 1, microbatches = 1;
  int length = 0;         // stages of a segment; 0: nothing is recomputed
  double decay = 0;       // T2, D; 0: off
  bool sets_back = true;  // T2 for the recomputation too

  int begin_of(int s) const { return s / length * length; }
  int end_of(int s) const { return std::min(begin_of(s) + length, stages) - 1; }
  // Micro-batches by which a stage's forwards and recomputations are ahead of its backwards.
  int forward_ahead(int s) const { return 2 * (stages - 1 - s) + 1; }
  int recompute_ahead(int s) const { return 2 * (end_of(s) - s); }
  double delay(int s) const { return 1. * forward_ahead(s) / microbatches; }

  std::vector<double> train(const ScalarTask& task) const {
    const int updates = static_cast<int>(std::ssize(task.inputs)) / microbatches;
    std::vector<std::vector<double>> made = {task.weights}, delta = {std::vector(stages, 0.)};
    for (int k = 0; k < updates; ++k) {
      std::vector<double> next = made.back();
      for (int m = k * microbatches; m < (k + 1) * microbatches; ++m) {
        const std::vector<double> gradient = gradient_of(task, m, made, delta);
        for (int s = 0; s < stages; ++s) next[s] -= task.lr / microbatches * gradient[s];
      }
      std::vector<double> motion = delta.back();
      for (int s = 0; s < stages && decay > 0; ++s) {
        const double gamma = std::pow(decay, 1 / delay(s));
        motion[s] = gamma * motion[s] + (1 - gamma) * (next[s] - made.back()[s]);
      }
      delta.push_back(motion);
      made.push_back(next);
    }
    return made.back();
  }

 private:
  using Values = std::vector<std::vector<double>>;  // by updates, of each stage

  std::vector<double> gradient_of(const ScalarTask& task, int m, const Values& made,
                                  const Values& delta) const {
    const auto updates = [&](int ahead) {  // once that many micro-batches fewer have gone backward
      return static_cast<std::size_t>(std::max(0, m - ahead) / microbatches);
    };
    const auto back = [&](int s, int ahead, double by) {
      const std::size_t v = updates(ahead);
      return made[v][s] - (decay > 0 ? by * delta[v][s] : 0);
    };
    std::vector<double> forward, again, backward, input = {task.inputs[m]};
    for (int s = 0; s < stages; ++s) {
      forward.push_back(back(s, forward_ahead(s), 0));
      backward.push_back(back(s, 0, delay(s)));
      if (length == 0) again.push_back(forward.back());
      if (length > 0)
        again.push_back(back(s, recompute_ahead(s),
                             sets_back ? delay(s) - 1. * recompute_ahead(s) / microbatches : 0));
    }
    // What the backward of each stage has as its input: of the forward for the first stage of a
    // segment, of the recomputation for the others.
    std::vector<double> reached = {task.inputs[m]};
    for (int s = 0; s + 1 < stages; ++s) {
      reached.push_back(reached[s] * forward[s]);
      const bool begins = length == 0 || begin_of(s + 1) == s + 1;
      input.push_back(begins ? reached[s + 1] : input[s] * again[s]);
    }
    double above = input.back() * again.back() - task.targets[m];
    std::vector<double> gradient(static_cast<std::size_t>(stages));
    for (int s = stages - 1; s >= 0; --s) {
      gradient[s] = above * input[s];
      above *= backward[s];
    }
    return gradient;
  }
};

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double far = 0;
  for (std::size_t s = 0; s < a.size(); ++s) far = std::max(far, std::abs(a[s] - b[s]));
  return far;
}

Config config_of(const Segments& method, const std::string& schedule) {
  Config config;
  config.pipeline.schedule = schedule;
  config.pipeline.microbatches = method.microbatches;
  config.pipeline.warmup = Warmup::Full;
  config.pipeline.pipemare = {.anneal_steps = 0, .decay = method.decay};
  if (method.length > 0) config.pipeline.recompute.rule = Recompute::Segments;
  config.pipeline.segment_stages = method.length;
  return config;
}

}  // namespace

TEST_CASE("segments recompute with the weights of the moment, set back by T2 to the forward's",
          "[backends]") {
  for (const double decay : {0., 0.3})
    for (const Segments method : {Segments{4, 1, 2}, {5, 2, 2}, {3, 2, 3}, {6, 1, 3}, {4, 3, 1}}) {
      Segments segments = method, other = method;
      segments.decay = other.decay = decay;
      if (decay > 0)
        other.sets_back = false;
      else
        other.length = method.length == 1 ? 0 : 1;
      ScalarTask task = random_task(method.stages, 14 * method.microbatches);
      task.lr = 0.12;  // so that versions differ by much
      const std::vector<double> expected = segments.train(task);
      CAPTURE(decay, method.stages, method.microbatches, method.length);
      CHECK(distance(expected, other.train(task)) > 1e-4);
      const Config config =
          config_of(segments, decay > 0 ? "pipemare" : "pipelined_backpropagation");
      for (const std::string& backend : testing::backend_names())
        for (const std::string workers : {"threads", "inline"}) {
          CAPTURE(backend, workers);
          const auto got = train_on_engine(config, task, {backend, workers});
          for (std::size_t s = 0; s < got.size(); ++s)
            CHECK(got[s] == Approx(expected[s]).epsilon(1e-5));
        }
    }
}

TEST_CASE("segments of a schedule that keeps the forward's weights change no bit", "[backends]") {
  for (const std::string schedule : {"pipedream", "pipedream_2bw"})
    for (const int stages : {2, 3, 5}) {
      const int n = schedule == "pipedream" ? 2 : 2 * stages;
      const ScalarTask task = random_task(stages, 6 * n);
      const auto kept =
          train_on_engine(config_of({stages, n, 0}, schedule), task, {"cpu", "inline"});
      for (const int length : {1, 2, stages})
        for (const std::string workers : {"threads", "inline"}) {
          CAPTURE(schedule, stages, length, workers);
          CHECK(train_on_engine(config_of({stages, n, length}, schedule), task, {"cpu", workers}) ==
                kept);
        }
    }
}
