// BaPipe's table: by hand, and beside what the programs of these schedules take in simulation.
#include "plan/bapipe/schedules.hpp"

#include <set>
#include <string>

#include "catch.hpp"
#include "program/simulate.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

const BapipeSchedule& row(std::string_view name) { return *find_bapipe_schedule(name); }

double step_of(std::string_view name, int stages, int microbatches, PipelinePace pace) {
  return step_ms(row(name), stages, microbatches, pace);
}

Timeline simulated(Warmup warmup, int stages, int microbatches, const StageCosts& costs) {
  const Program program = make_program(
      {.schedule = "1f1b", .stages = stages, .microbatches = microbatches, .warmup = warmup});
  return simulate(program, {.all = costs});
}

}  // namespace

TEST_CASE("the four schedules have the names, platforms and keys of BaPipe") {
  std::set<std::string> names;
  for (const BapipeSchedule& schedule : bapipe_schedules()) names.emplace(schedule.name);
  CHECK(names == std::set<std::string>{"1f1b_as", "fbp_as", "1f1b_sno", "1f1b_so"});
  CHECK(row("1f1b_as").platform == Execution::Async);
  CHECK(row("fbp_as").platform == Execution::Async);
  CHECK(row("1f1b_sno").platform == Execution::Sync);
  CHECK(row("1f1b_so").platform == Execution::Sync);
  CHECK(row("fbp_as").keys == "schedule = \"fbp_as\"");
  CHECK(row("1f1b_so").keys == "schedule = \"1f1b\"\nwarmup = \"double\"");
  CHECK_FALSE(find_bapipe_schedule("1f1b"));
  CHECK(schedule_keys("1f1b_sno") == "schedule = \"1f1b_sno\"");
  CHECK(schedule_keys("data_parallel") == "schedule = \"data_parallel\"");
}

TEST_CASE("a step takes what the table says, by hand") {
  // 4 stages, 8 micro-batches: (8 + 3)(1 + 2) = 33.
  const PipelinePace pace{.forward_ms = 1, .backward_ms = 2, .transfer_ms = 0.5};
  CHECK(step_of("1f1b_as", 4, 8, pace) == 33);
  CHECK(step_of("fbp_as", 4, 8, pace) == 33);
  CHECK(step_of("1f1b_sno", 4, 8, pace) == 33 + 2 * 10 * 0.5);
  CHECK(step_of("1f1b_so", 4, 8, pace) == 33 + 2 * 3 * 0.5);
  for (const BapipeSchedule& schedule : bapipe_schedules())
    CHECK(step_ms(schedule, 1, 5, {1, 2, 0}) == 15);
}

TEST_CASE("a stage keeps as many features as the table says, and no more than there are") {
  const auto kept = [](std::string_view name, int microbatches) {
    std::vector<int> kept;
    for (int s = 0; s < 4; ++s) kept.push_back(features_kept(row(name), 4, s, microbatches));
    return kept;
  };
  CHECK(kept("1f1b_as", 8) == std::vector<int>{4, 3, 2, 1});
  CHECK(kept("fbp_as", 8) == std::vector<int>{8, 6, 4, 2});
  CHECK(kept("1f1b_sno", 8) == std::vector<int>{4, 3, 2, 1});
  CHECK(kept("1f1b_so", 8) == std::vector<int>{7, 5, 3, 1});
  CHECK(kept("fbp_as", 3) == std::vector<int>{3, 3, 3, 2});
}

TEST_CASE("transfers are hidden by a forward, by half of both, or paid whatever they take") {
  const PipelinePace pace{.forward_ms = 2, .backward_ms = 6, .transfer_ms = 0};
  CHECK(row("1f1b_as").hidden_ms(pace) == 2);
  CHECK(row("fbp_as").hidden_ms(pace) == 4);
  CHECK(row("1f1b_so").hidden_ms(pace) == 4);
  CHECK(row("1f1b_sno").hidden_ms(pace) > 1e300);
}

TEST_CASE("1f1b_as takes what 1f1b takes in simulation if transfers are free") {
  for (const int stages : {1, 2, 3, 5})
    for (const int microbatches : {1, 2, 4, 9, 16}) {
      INFO(stages << " stages, " << microbatches << " micro-batches");
      const Timeline timeline = simulated(Warmup::OneFOneB, stages, microbatches, {2, 1, 2});
      CHECK(timeline.makespan == step_of("1f1b_as", stages, microbatches, {2, 3, 0}));
      for (int s = 0; s < stages; ++s)
        CHECK(timeline.peak_activations[static_cast<std::size_t>(s)] ==
              features_kept(row("1f1b_as"), stages, s, microbatches));
    }
}

TEST_CASE("1f1b_so takes what a doubled warm-up takes in simulation, up to the longest transfer") {
  for (const int stages : {2, 3, 5})
    for (const int microbatches : {1, 2, 4, 9, 16})
      for (const double transfer : {0.0, 0.5, 1.0, 2.5}) {
        INFO(stages << " stages, " << microbatches << " micro-batches, transfer " << transfer);
        const StageCosts costs{
            .forward = 2, .backward_input = 1, .backward_weight = 2, .transfer = transfer};
        const Timeline timeline = simulated(Warmup::Double, stages, microbatches, costs);
        const PipelinePace pace{2, 3, transfer};
        REQUIRE(transfer <= row("1f1b_so").hidden_ms(pace));
        CHECK(timeline.makespan == step_of("1f1b_so", stages, microbatches, pace));
        for (int s = 0; s < stages; ++s)
          CHECK(timeline.peak_activations[static_cast<std::size_t>(s)] ==
                features_kept(row("1f1b_so"), stages, s, microbatches));
      }
}

TEST_CASE("beyond the longest transfer that 1f1b_so hides, its form is too short") {
  const Timeline timeline =
      simulated(Warmup::Double, 3, 16,
                {.forward = 2, .backward_input = 1, .backward_weight = 2, .transfer = 4});
  CHECK(timeline.makespan > step_of("1f1b_so", 3, 16, {2, 3, 4}));
}

TEST_CASE("1f1b_sno takes one transfer less than its bound, fbp_as what the table says") {
  for (const int stages : {3, 5})
    for (const int microbatches : {2, 4, 9, 16}) {
      INFO(stages << " stages, " << microbatches << " micro-batches");
      const auto takes = [&](const char* name, double transfer) {
        const Program program =
            make_program({.schedule = name, .stages = stages, .microbatches = microbatches});
        const StageCosts costs{
            .forward = 2, .backward_input = 1, .backward_weight = 2, .transfer = transfer};
        return simulate(program, charged(require_schedule(name), {.all = costs})).makespan;
      };
      CHECK(takes("1f1b_sno", 0.5) == step_of("1f1b_sno", stages, microbatches, {2, 3, 0.5}) - 0.5);
      CHECK(takes("fbp_as", 0) == Approx(step_of("fbp_as", stages, microbatches, {2, 3, 0})));
    }
}

TEST_CASE("fbp_as keeps the activations of a full warm-up") {
  const Timeline timeline = simulated(Warmup::Full, 4, 16, {2, 1, 2});
  for (int s = 0; s < 4; ++s)
    CHECK(timeline.peak_activations[static_cast<std::size_t>(s)] ==
          features_kept(row("fbp_as"), 4, s, 16));
}
