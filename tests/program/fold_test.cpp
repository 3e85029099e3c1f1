// A folded program is the schedule's own, whatever the number of rounds.
#include "program/fold.hpp"

#include <random>

#include "catch.hpp"
#include "program/liveness.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

ScheduleRequest request_of(const std::string& name, int p, int n, int k) {
  return {.schedule = name, .stages = p, .microbatches = n, .minibatches = k};
}

}  // namespace

TEST_CASE("every schedule that never drains folds, and unfolds to itself") {
  for (const Schedule& row : schedules()) {
    if (flushes(row)) continue;
    for (const auto& [p, n] :
         {std::pair{1, 1}, {2, 1}, {4, 1}, {2, 2}, {3, 4}, {4, 4}, {3, 5}, {8, 7}}) {
      ScheduleRequest request =
          request_of(std::string(row.name), p, n,
                     steady_minibatches(row, request_of(std::string(row.name), p, n, 1)));
      if (row.name == "pipedream_2bw" && n < p) continue;
      if (row.name == "v_timeprest" && p > n + 1) continue;
      CAPTURE(row.name, p, n, request.minibatches);
      const int k = request.minibatches;
      const Program shorter = make_program(request);
      request.minibatches = k + 1;
      const auto folded = fold(shorter, make_program(request));
      REQUIRE(folded);
      CHECK(unfold(*folded, 0) == shorter);
      CHECK(unfold(*folded, 1) == folded->program);
      for (const int more : {2, 3, 9}) {
        request.minibatches = k + more;
        CHECK(unfold(*folded, more) == make_program(request));
      }
    }
  }
}

// Periods of one mini-batch and of several, and versions that are bound on a clock of slots.
TEST_CASE("work-conserving orders fold, and unfold to themselves") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto from_to = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const int p = from_to(1, 8), n = from_to(1, 8);
    for (const Schedule& row : schedules()) {
      if (!takes_busy(row) || (row.name == "v_timeprest" && p > n + 1)) continue;
      ScheduleRequest request = request_of(std::string(row.name), p, n, 1);
      request.busy = {from_to(1, 4), from_to(0, 3 * n), from_to(0, 2 * p)};
      CAPTURE(row.name, p, n, request.busy->forward, request.busy->backward,
              request.busy->in_flight);
      const int k = request.minibatches = steady_minibatches(row, request);
      const Program shorter = make_program(request);
      const int round = shorter.minibatches_per_round();
      request.minibatches = k + round;
      const auto folded = fold(shorter, make_program(request));
      REQUIRE(folded);
      CHECK(unfold(*folded, 0) == shorter);
      request.minibatches = k + 3 * round;
      CHECK(unfold(*folded, 3) == make_program(request));
    }
  }
}

TEST_CASE("rounds that are timed are whole groups of micro-batches in flight") {
  CHECK(timed_rounds(1, 1) == 3);
  CHECK(timed_rounds(2, 1) == 6);
  CHECK(timed_rounds(4, 1) == 12);
  CHECK(timed_rounds(4, 2) == 6);
  CHECK(timed_rounds(4, 3) == 4);
  CHECK(timed_rounds(6, 4) == 6);
  CHECK(timed_rounds(3, 9) == 2);
  CHECK(timed_rounds(5, 7) == 5);
  // A round that is many groups by itself need not be whole ones.
  CHECK(timed_rounds(3, 100) == 2);
}

TEST_CASE("a program in its warm-up does not fold") {
  const auto one = make_program(request_of("pipedream", 4, 1, 1)),
             two = make_program(request_of("pipedream", 4, 1, 2));
  CHECK_FALSE(fold(one, two));
}

TEST_CASE("what is shown by default has the steady state's peaks, and two rounds of it") {
  for (const Schedule& row : schedules()) {
    if (flushes(row)) continue;
    for (const Warmup warmup : {Warmup::OneFOneB, Warmup::Double, Warmup::Full})
      for (int p = 1; p <= 7; ++p)
        for (int n = 1; n <= 9; ++n) {
          ScheduleRequest request = request_of(std::string(row.name), p, n, 1);
          if (warmup != Warmup::OneFOneB && !takes_warmup(row)) continue;
          if (row.name == "pipedream_2bw" && n < 2 * p) continue;
          if (row.name == "v_timeprest" && p > n + 1) continue;
          request.warmup = warmup;
          CAPTURE(row.name, warmup, p, n);
          request.minibatches = steady_minibatches(row, request);
          const Program steady = make_program(request);
          request.minibatches = shown_minibatches(row, request);
          CAPTURE(request.minibatches);
          const Program shown = make_program(request);
          CHECK(peak_weight_versions(shown) == peak_weight_versions(steady));
          CHECK(peak_activations(shown) == peak_activations(steady));
          // Rounds of stage 0 from its first backward on, in which as many forwards begin.
          int forwards = 0;
          bool filled = false;
          for (const Instruction& i : shown.workers[0]) {
            filled = filled || is_backward(i.op);
            if (filled && i.op == Op::Forward) ++forwards;
          }
          CHECK(forwards + (shown.gradients_together ? n : 1) >= 2 * n);
        }
  }
}
