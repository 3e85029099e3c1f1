// Replicas on the smallest trainer, against what docs/methods/pipedream.md writes down for 1F1B-RR,
// and the real engine against the smallest trainer.
#include <cmath>
#include <numeric>
#include <random>

#include "backends.hpp"
#include "catch.hpp"
#include "schedules.hpp"
#include "semantics/engine.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

using List = std::vector<int>;

ScheduleRequest pipedream(const List& replicas, int n, int k) {
  return {.schedule = "pipedream",
          .stages = static_cast<int>(replicas.size()),
          .microbatches = n,
          .minibatches = k,
          .replicas = replicas};
}

// The recurrence of 1F1B-RR, written as the page has it: mini-batch k reads on stage s version
// max(0, floor(k / r_s) - d_s), with d_s = floor((R - 1 - sum of r_t over t < s) / r_s), and update
// g of stage s is by the mean of mini-batches g r_s .. (g + 1) r_s - 1, at r_s / r_0 of the rate.
class Recurrence {
 public:
  Recurrence(const ScalarTask& task, const List& replicas, int n, int k)
      : task_(task), r_(replicas), n_(n), k_(k) {
    for (const double weight : task.weights) w_.push_back({weight});
  }

  History run() {
    const int p = static_cast<int>(r_.size());
    for (int k = 0; k < k_; ++k)
      for (int s = 0; s < p; ++s)
        if ((k + 1) % r_[s] == 0 || k == k_ - 1) update(s, k / r_[s]);
    return w_;
  }

 private:
  int version(int s, int k) const {
    const int all = std::accumulate(r_.begin(), r_.end(), 0),
              before = std::accumulate(r_.begin(), r_.begin() + s, 0);
    return std::max(0, k / r_[s] - (all - 1 - before) / r_[s]);
  }

  double gradient(int s, int k) const {
    std::vector<double> read;
    for (int t = 0; t < static_cast<int>(r_.size()); ++t) read.push_back(w_[t].at(version(t, k)));
    double sum = 0;
    for (int m = k * n_; m < (k + 1) * n_; ++m)
      sum += scalar_gradient(read, read, s, task_.inputs[m], task_.targets[m]) / n_;
    return sum;
  }

  void update(int s, int g) {
    const int first = g * r_[s], end = std::min(first + r_[s], k_);
    double mean = 0;
    for (int k = first; k < end; ++k) mean += gradient(s, k) / (end - first);
    w_[s].push_back(w_[s].back() - task_.lr * r_[s] / r_[0] * mean);
  }

  const ScalarTask& task_;
  const List& r_;
  const int n_, k_;
  History w_;
};

void check_close(const History& got, const History& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t s = 0; s < got.size(); ++s) {
    REQUIRE(got[s].size() == expected[s].size());
    for (std::size_t v = 0; v < got[s].size(); ++v) {
      CAPTURE(s, v);
      CHECK(std::abs(got[s][v] - expected[s][v]) <= 1e-12);
    }
  }
}

}  // namespace

TEST_CASE("1F1B-RR gives the recurrence of its page", "[replicas]") {
  for (const List& replicas :
       {List{2, 1}, List{3, 1}, List{1, 2}, List{1, 3, 1}, List{2, 3}, List{4, 2, 1}, List{2, 2}})
    for (const int k : {1, 2, 12, 13, 17}) {
      CAPTURE(replicas, k);
      const ScalarTask task = random_task(static_cast<int>(replicas.size()), k);
      check_close(ScalarTrainer(make_program(pipedream(replicas, 1, k)), task).run(),
                  Recurrence(task, replicas, 1, k).run());
    }
  // Unequal replicas are ahead by whole mini-batches.
  for (const List& replicas : {List{2, 1}, List{3, 1}, List{1, 3, 1}, List{4, 2, 1}})
    for (const int n : {2, 3}) {
      const int k = 11;
      CAPTURE(replicas, n);
      const ScalarTask task = random_task(static_cast<int>(replicas.size()), n * k);
      check_close(ScalarTrainer(make_program(pipedream(replicas, n, k)), task).run(),
                  Recurrence(task, replicas, n, k).run());
    }
}

TEST_CASE("under flushing, replicas are plain SGD, and under pipedream_2bw they change nothing",
          "[replicas]") {
  for (const std::string schedule :
       {"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "pipedream_2bw"})
    for (const List& replicas : {List{2, 2}, List{3, 3}, List{3, 1}, List{1, 2}}) {
      if (replicas[0] != replicas[1] && schedule != "gpipe" && schedule != "1f1b" &&
          !schedule.starts_with("zb"))
        continue;
      CAPTURE(schedule, replicas);
      const int k = 5, n = 12;
      ScheduleRequest request = pipedream(replicas, n, k);
      request.schedule = schedule;
      request.virtual_stages = 2;
      const Program program = make_program(request);
      request.replicas = {};
      const Program one = make_program(request);
      const ScalarTask task = random_task(program.stages, n * k);
      check_close(ScalarTrainer(program, task).run(), ScalarTrainer(one, task).run());
    }
}

TEST_CASE("the engine trains stages with replicas as the scalar trainer does",
          "[replicas][backends]") {
  const Choice choice{GENERATE(from_range(testing::backend_names())),
                      GENERATE("threads", "inline")};
  for (const List& replicas : {List{2, 1}, List{3, 1}, List{2, 2}, List{1, 3, 1}})
    for (const auto& [n, k] : {std::pair{1, 12}, {1, 13}, {3, 7}}) {
      CAPTURE(replicas, n, k, choice.backend, choice.workers);
      const Program program = make_program(pipedream(replicas, n, k));
      const ScalarTask task = random_task(static_cast<int>(replicas.size()), n * k);
      const History expected = ScalarTrainer(program, task).run();
      const std::vector<double> got = train_on_engine(program, task, choice);
      for (std::size_t s = 0; s < replicas.size(); ++s)
        CHECK(got[s] == Approx(expected[s].back()).epsilon(1e-5));
    }
}
