// Programs replayed on the smallest trainer, against the papers' recurrences written out.
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "order/orders.hpp"
#include "program/check.hpp"
#include "program/passes.hpp"
#include "program/random_program.hpp"
#include "program/text.hpp"
#include "schedules.hpp"
#include "semantics/scalar_trainer.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

ScalarTask task_for(std::mt19937& random, int stages, int microbatches) {
  std::uniform_real_distribution<double> weight(0.6, 1.4), data(-1, 1);
  ScalarTask task;
  for (int s = 0; s < stages; ++s) task.weights.push_back(weight(random));
  for (int m = 0; m < microbatches; ++m) {
    task.inputs.push_back(data(random));
    task.targets.push_back(2 * task.inputs.back() + 0.1 * data(random));
  }
  return task;
}

void check_equal(const History& got, const History& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t s = 0; s < got.size(); ++s) {
    REQUIRE(got[s].size() == expected[s].size());
    for (std::size_t v = 0; v < got[s].size(); ++v) {
      CAPTURE(s, v);
      CHECK(std::abs(got[s][v] - expected[s][v]) <= 1e-12);
    }
  }
}

// w_s(k+1) = w_s(k) - lr * mean over micro-batches of the gradient at the versions that
// `forward(m, j)` and `backward(m, j)` give for each stage j.
template <class Forward, class Backward>
History recurrence(const ScalarTask& task, int n, int k, Forward forward, Backward backward) {
  const int p = static_cast<int>(task.weights.size());
  History w;
  for (double weight : task.weights) w.push_back({weight});
  for (int t = 0; t < k; ++t) {
    std::vector<double> sum(p, 0);
    for (int m = t * n; m < (t + 1) * n; ++m) {
      std::vector<double> f, b;
      for (int j = 0; j < p; ++j) {
        f.push_back(w[j][forward(m, j)]);
        b.push_back(w[j][backward(m, j)]);
      }
      for (int s = 0; s < p; ++s)
        sum[s] += scalar_gradient(f, b, s, task.inputs[m], task.targets[m]) / n;
    }
    for (int s = 0; s < p; ++s) w[s].push_back(w[s].back() - task.lr * sum[s]);
  }
  return w;
}

// The versions in a program's own instructions.
struct Bound {
  std::map<std::pair<int, int>, int> forward, backward;
  explicit Bound(const Program& program) {
    for (const auto& list : program.workers)
      for (const auto& i : list) {
        const std::pair key{i.microbatch.value, i.stage.value};
        if (i.op == Op::Forward) forward[key] = i.weights.version.value;
        if (gives_input_gradient(i.op)) backward[key] = i.weights.version.value;
      }
  }
};

bool is_refused(const Schedule& row, const ScheduleRequest& request) try {
  row.refuse(request);
  return false;
} catch (const UsageError&) {
  return true;
}

}  // namespace

TEST_CASE("flushing schedules are plain SGD, whatever the stages") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& row : schedules()) {
    if (!flushes(row)) continue;
    for (const auto& size :
         {std::pair{1, 1}, {1, 4}, {2, 2}, {4, 4}, {3, 5}, {6, 2}, {2, 6}, {4, 8}})
      for (bool sync : {false, true}) {
        const int p = size.first, n = size.second, k = 6, virtual_stages = p % 3 + 1;
        CAPTURE(row.name, p, n, sync);
        const ScheduleRequest request{.schedule = std::string(row.name),
                                      .stages = p,
                                      .microbatches = n,
                                      .minibatches = k,
                                      .sync_gradients = sync,
                                      .virtual_stages = virtual_stages};
        if (row.refuse && is_refused(row, request)) continue;
        const auto program = make_program(request);
        const auto task = task_for(random, program.stages, n * k);
        const auto plain = [&](int m, int) { return m / n; };
        check_equal(ScalarTrainer(program, task).run(), recurrence(task, n, k, plain, plain));
      }
  }
}

// PipeDream: w(t+1) = w(t) - lr * grad f(w_1(t-n+1), w_2(t-n+2), .., w_n(t)).
TEST_CASE("stashing gives PipeDream's recurrence") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int p : {1, 2, 3, 4, 7}) {
    const int k = 20;
    CAPTURE(p);
    const auto task = task_for(random, p, k);
    const auto program = make_program({"pipedream", p, 1, k});
    const auto stale = [&](int t, int j) { return std::max(0, t - (p - 1 - j)); };
    check_equal(ScalarTrainer(program, task).run(), recurrence(task, 1, k, stale, stale));
  }
}

// The same with vertical sync: w(t+1) = w(t) - lr * grad f(w_1(t-n+1), .., w_n(t-n+1)).
TEST_CASE("vertical sync gives the recurrence of delayed SGD") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int p : {1, 2, 4}) {
    const int k = 15;
    const auto task = task_for(random, p, k);
    const auto program = make_program(
        {.schedule = "pipedream", .stages = p, .minibatches = k, .vertical_sync = true});
    const auto stale = [&](int t, int) { return std::max(0, t - (p - 1)); };
    check_equal(ScalarTrainer(program, task).run(), recurrence(task, 1, k, stale, stale));
  }
}

// Kosson et al.: w(t+1) = w(t) - lr * grad f(w(t-D), w(t)), with D_s = n-1-s updates between
// forward and backward on stage s, and 2(n-1-s) if that many forwards run ahead.
TEST_CASE("pipelined backpropagation reads old weights in forward and new ones in backward") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& [warmup, per_stage] : {std::pair{Warmup::OneFOneB, 1}, {Warmup::Double, 2}})
    for (int p : {1, 2, 4}) {
      const int k = 15, each = per_stage;
      const auto task = task_for(random, p, k);
      const auto program = make_program({.schedule = "pipelined_backpropagation",
                                         .stages = p,
                                         .minibatches = k,
                                         .warmup = warmup});
      const auto old = [&](int t, int j) { return std::max(0, t - each * (p - 1 - j)); };
      const auto now = [](int t, int) { return t; };
      check_equal(ScalarTrainer(program, task).run(), recurrence(task, 1, k, old, now));
      CHECK(peak_weight_versions(program) == std::vector<int>(static_cast<std::size_t>(p), 1));
      if (p <= 2) continue;  // nothing reads the input gradient of stage 0
      const auto stashed = make_program({"pipedream", p, 1, k});
      CHECK(ScalarTrainer(program, task).run() != ScalarTrainer(stashed, task).run());
    }
}

// The work-conserving order: a mini-batch's version on a stage is the number of backwards that its
// worker has run by then, so the order alone gives v_timeprest's recurrence.
TEST_CASE("v_timeprest in the work-conserving order reads the newest weights of each stage") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& [p, n, in_flight] :
       {std::tuple{1, 2, 0}, {2, 2, 0}, {3, 4, 0}, {4, 4, 2}, {4, 8, 0}}) {
    const int k = 12;
    CAPTURE(p, n, in_flight);
    const ScheduleRequest request{.schedule = "v_timeprest",
                                  .stages = p,
                                  .microbatches = n,
                                  .minibatches = k,
                                  .busy = BusyTimes{.in_flight = in_flight}};
    std::map<std::pair<int, int>, int> newest;
    const Program order = orders::busy_nf1b.make(
        {.stages = p, .microbatches = n, .minibatches = k, .busy = *request.busy});
    for (const auto& list : order.workers) {
      int backwards = 0;
      for (const Instruction& i : list)
        if (i.op == Op::Forward)
          newest[{i.microbatch.value, i.stage.value}] = backwards / n;
        else
          ++backwards;
    }
    const auto forward = [&](int m, int j) { return newest.at({m, j}); };
    const auto backward = [&](int m, int) { return m / request.microbatches; };
    const auto task = task_for(random, p, n * k);
    check_equal(ScalarTrainer(make_program(request), task).run(),
                recurrence(task, n, k, forward, backward));
  }
}

TEST_CASE("timeprest in the work-conserving order trains as the versions in its instructions say") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& [p, n] : {std::pair{2, 2}, {4, 2}, {4, 4}, {6, 3}}) {
    const int k = 12;
    CAPTURE(p, n);
    const Program program = make_program({.schedule = "timeprest",
                                          .stages = p,
                                          .microbatches = n,
                                          .minibatches = k,
                                          .busy = BusyTimes{}});
    const Bound bound(program);
    const auto f = [&](int m, int j) { return bound.forward.at({m, j}); };
    const auto b = [&](int m, int j) { return bound.backward.at({m, j}); };
    for (int m = 0; m < n * k; ++m)  // one version of the whole model
      for (int j = 1; j < p; ++j) {
        CHECK(f(m, j) == f(m, 0));
        CHECK(b(m, j) == b(m, 0));
      }
    const auto task = task_for(random, p, n * k);
    check_equal(ScalarTrainer(program, task).run(), recurrence(task, n, k, f, b));
  }
}

TEST_CASE("random programs train as the versions in their instructions say") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 120; ++n) {
    const auto& policy = n % 3 == 0   ? versions::latest
                         : n % 3 == 1 ? versions::stash
                                      : versions::vertical_sync;
    const auto program = random_program(random, policy);
    CAPTURE(policy.name, to_text(program));
    const auto task = task_for(random, program.stages, program.total_microbatches());
    Bound bound(program);
    const auto f = [&](int m, int j) { return bound.forward.at({m, j}); };
    const auto b = [&](int m, int j) { return bound.backward.at({m, j}); };
    check_equal(ScalarTrainer(program, task).run(),
                recurrence(task, program.microbatches, program.minibatches, f, b));
    const auto lowered = fuse_updates(send_gradients_early(program));
    CAPTURE(to_text(lowered));
    CHECK(check(lowered).empty());
    CHECK(parse_program(to_text(lowered)) == lowered);
    CHECK(ScalarTrainer(lowered, task).run() == ScalarTrainer(program, task).run());
  }
}
