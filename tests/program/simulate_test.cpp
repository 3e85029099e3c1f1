#include "program/simulate.hpp"

#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "program/check.hpp"
#include "program/liveness.hpp"
#include "program/random_program.hpp"
#include "program/text.hpp"
#include "schedules.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;

TEST_CASE("the issue's example: 4 stages, 8 micro-batches, F = 1, B = 2") {
  const Costs costs{.all = {1, 1, 1, 0}};
  const auto gpipe = simulate(make_program({"gpipe", 4, 8}), costs);
  CHECK(gpipe.makespan == 33);
  CHECK(gpipe.bubble == Approx(3.0 / 11));
  CHECK(gpipe.peak_activations == std::vector{8, 8, 8, 8});
  const auto alternating = simulate(make_program({"1f1b", 4, 8}), costs);
  CHECK(alternating.makespan == 33);
  CHECK(alternating.bubble == Approx(3.0 / 11));
  CHECK(alternating.peak_activations == std::vector{4, 3, 2, 1});
  CHECK(alternating.idle == std::vector<double>{9, 6, 3, 0});
}

// METHODS: makespan (M+p-1)(F+B), in flight M or min(M, p-s), one weight version.
TEST_CASE("closed forms of the flushing schedules, random sizes and times") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> time(0.1, 5);
  for (int n = 0; n < 60; ++n) {
    const int p = 1 + static_cast<int>(random() % 8), m = 1 + static_cast<int>(random() % 24);
    const double f = time(random), b = time(random);
    CAPTURE(p, m, f, b);
    for (const char* name : {"gpipe", "1f1b"}) {
      CAPTURE(name);
      const auto program = make_program({name, p, m});
      CHECK(find_deadlock(program, 1).empty());
      const auto line = simulate(program, {.all = {f, b, 0, 0}});
      CHECK(line.makespan == Approx((m + p - 1) * (f + b)));
      CHECK(line.bubble == Approx(double(p - 1) / (m + p - 1)).margin(1e-12));
      for (int s = 0; s < p; ++s) {
        CHECK(line.peak_activations[s] == (std::string(name) == "gpipe" ? m : std::min(m, p - s)));
        CHECK(line.peak_weight_versions[s] == 1);
        CHECK(line.idle[s] == Approx((p - 1 - s) * (f + b)).margin(1e-9));
      }
    }
  }
}

TEST_CASE("several steps of a flushing schedule with the gradient norms of all stages") {
  for (const char* name : {"gpipe", "1f1b"}) {
    const auto program = make_program({name, 4, 4, 3, true});
    const auto line = simulate(program, {.all = {1, 1, 1, 0}});
    CHECK(line.makespan ==
          3 * (4 + 3) * 3);  // the update of stage 0 is the last to be ready anyway
    for (const auto& spans : line.spans) CHECK(spans.back().end == line.makespan);
  }
}

TEST_CASE("never drained: K N (F+B) and one ramp, 1 + ceil(depth/N) versions") {
  for (int p : {1, 2, 4, 5})
    for (int n : {1, 2, 3, 8}) {
      CAPTURE(p, n);
      const auto program = make_program({"pipedream", p, n, 8});
      const auto line = simulate(program, {.all = {1, 1, 1, 0}});
      CHECK(line.makespan == (8 * n + p - 1) * 3);
      for (int s = 0; s < p; ++s) {
        CHECK(line.peak_activations[s] == p - s);
        CHECK(line.peak_weight_versions[s] == 1 + (p - 1 - s + n - 1) / n);
      }
    }
}

TEST_CASE("a transfer takes the link, one packet after the other, and not the worker") {
  const auto program = make_program({"gpipe", 2, 2});
  const auto line = simulate(program, {.all = {1, 0.5, 0.5, 3}});
  // Sent at 1 and 2; the link is free again at 4, so the second arrives at 7. Gradients likewise.
  const auto end = [&](const char* text) {
    for (std::size_t w = 0; w < program.workers.size(); ++w)
      for (std::size_t at = 0; at < program.workers[w].size(); ++at)
        if (short_text(program.workers[w][at]) == text) return line.spans[w][at].end;
    return -1.0;
  };
  CHECK(end("0F1") == 2);
  CHECK(end("1RA0") == 4);
  CHECK(end("1RA1") == 7);
  CHECK(end("1B1") == 9);
  CHECK(end("0RG1") == 12);
  CHECK(end("0RG0") == 15);
  CHECK(line.makespan == 16);
}

TEST_CASE("a latency comes after a transfer and occupies nothing") {
  const auto program = make_program({"gpipe", 2, 2});
  const Costs costs{.all = {.forward = 1,
                            .backward_input = 0.5,
                            .backward_weight = 0.5,
                            .transfer = 3,
                            .gradient_transfer = 1,
                            .latency = 10}};
  // Activations arrive at 1 + 3 + 10 and 3 later; gradients leave at 19 and 20, and arrive at 30
  // and 31.
  CHECK(simulate(program, costs).makespan == 32);
}

TEST_CASE("an update waits for the sum of its copies' gradients") {
  const auto program = make_program({.schedule = "data_parallel", .stages = 2, .microbatches = 2});
  Costs costs{.all = {.forward = 1, .backward_input = 1, .backward_weight = 1, .update = 2}};
  CHECK(simulate(program, costs).makespan == 3 + 2);
  costs.all.all_reduce = 7;
  CHECK(simulate(program, costs).makespan == 3 + 7 + 2);
}

TEST_CASE("each stage may have costs of its own") {
  const Costs costs{.all = {}, .per_stage = {{1, 1, 0, 0}, {5, 0, 5, 0}}};
  CHECK(simulate(make_program({"1f1b", 2, 1}), costs).makespan == 12);
}

TEST_CASE("a split backward: the previous stage continues after the input half") {
  const auto program = parse_program(
      "program stages=2 microbatches=1 minibatches=1\n"
      "0: 0L0 0F0 0SA0 0RG0 0I0 0W0 0U0@1\n1: 1RA0 1F0 1I0 1SG0 1W0 1U0@1\n");
  REQUIRE(check(program).empty());
  const auto line = simulate(program, {.all = {1, 2, 4, 0}});
  CHECK(line.makespan == 1 + 1 + 2 + 2 + 4);
  CHECK(line.idle[0] == 3);
}

TEST_CASE("random programs pass, finish, and take no longer than one worker after the other") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 100; ++n) {
    const auto program =
        test::random_program(random, n % 2 ? versions::stash : versions::vertical_sync);
    const auto found = check(program);
    CAPTURE(show(program, found));
    REQUIRE(found.empty());
    CHECK(check(program, {.weight_versions = peak_weight_versions(program)}).empty());
    const auto line = simulate(program, {.all = {1, 1, 1, 0}});
    const double work = 3.0 * program.total_microbatches();
    CHECK(line.makespan >= work);
    CHECK(line.makespan <= work * program.stages);
    CHECK(line.bubble == Approx(1 - work / line.makespan).margin(1e-12));
    const auto kept = peak_activations(program);
    for (std::size_t s = 0; s < kept.size(); ++s) CHECK(line.peak_activations[s] <= kept[s]);
  }
}

TEST_CASE("liveness counts an activation to the weight half, and every stage of a worker") {
  const auto program = parse_program(
      "program stages=2 microbatches=2 minibatches=1 placement=0,0\n"
      "0: 0F0 1F0 0F1 1I0 0I0 1F1 1I1 0I1 0W0 1W0 1W1 0W1\n");
  CHECK(peak_in_flight(program) == std::vector{3});
  CHECK(peak_activations(program) == std::vector{2, 2});
}

TEST_CASE(
    "a shared parameter costs an asynchronous pipeline the trip to the first stage and back") {
  // F = B = 1, one micro-batch each. Alone the stages are always busy; if the first and the last
  // share a parameter, update k of the last waits for the backward of k on the first, and the
  // forward of k + 1 for that update.
  //   stage 0  F0 F1 F2 .. B0 ..                 stage 2   F0 B0 .. U0 F1 B1
  const auto request = [](std::set<StageId> tied) {
    return ScheduleRequest{.schedule = "pipedream",
                           .stages = 3,
                           .microbatches = 1,
                           .minibatches = 20,
                           .tied = std::move(tied)};
  };
  const Costs costs{.all = {1, 1, 0, 0}};
  const double free = simulate(make_program(request({})), costs).makespan;
  CHECK(free == 2 * 20 + 2 * 2);
  const double tied = simulate(make_program(request({{0}, {2}})), costs).makespan;
  CHECK(tied ==
        4 * 20 + 2);  // every round of the last stage takes F, B, and two backwards before it
  CHECK(simulate(make_program(request({{1}})), costs).makespan == free);  // two uses on one stage
}
