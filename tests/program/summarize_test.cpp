// summarize and WorkerLists against simulate and make_program, which they stand in for: over every
// schedule, a grid of sizes and several costs, to the last bit. Then the closed forms at sizes that
// no program reaches.
#include "program/summarize.hpp"

#include <optional>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "compact_schedule.hpp"
#include "order/orders.hpp"
#include "program/simulate.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

std::vector<Costs> costs_for(const Program& program, std::mt19937& random) {
  std::uniform_real_distribution<double> time(0.1, 3);
  Costs uneven;
  for (int s = 0; s < program.stages; ++s) {
    const double weight = time(random);
    uneven.per_stage.push_back({time(random), time(random), weight, time(random), weight / 3});
  }
  Costs disturbed = uneven;
  for (auto& stage : disturbed.per_stage) stage.update = time(random);
  disturbed.disturbance = {.slowdown = {}, .jitter = 0.3, .seed = random()};
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    disturbed.disturbance.slowdown.push_back(time(random));
  return {Costs{}, Costs{.all = {1, 2, 3, 0.7, 0.5, 0.25}}, uneven, disturbed};
}

// Everything but the spans.
Summary numbers_of(const Program& program, const Costs& costs) { return simulate(program, costs); }

std::optional<Program> program_of(const ScheduleRequest& request) try {
  return make_program(request);
} catch (const UsageError&) {
  return std::nullopt;
}

// Returns how many costs were compared.
int compare(const ScheduleRequest& request, std::mt19937& random) {
  CAPTURE(request.schedule, request.stages, request.microbatches, request.minibatches,
          request.virtual_stages, request.warmup, request.vertical_sync, request.early_sends,
          request.recompute, request.sync_gradients, request.tied.size());
  const Schedule& row = require_schedule(request.schedule);
  const auto program = program_of(request);
  if (!program) {
    CHECK_THROWS_AS(make_compact(row, request), UsageError);
    return 0;
  }
  const CompactSchedule compact = make_compact(row, request);
  int compared = 0;
  for (const Costs& costs : costs_for(*program, random)) {
    CAPTURE(compared);
    const Summary expected = numbers_of(*program, charged(row, costs)),
                  actual = summarize(compact, costs);
    CHECK(actual.makespan == expected.makespan);
    CHECK(actual.bubble == expected.bubble);
    CHECK(actual.idle == expected.idle);
    CHECK(actual.peak_activations == expected.peak_activations);
    CHECK(actual.peak_weight_versions == expected.peak_weight_versions);
    ++compared;
  }
  if (request.recompute || request.recomputed_gradient) return compared;
  WorkerLists lists(compact);
  for (int w = 0; w < static_cast<int>(program->workers.size()); ++w)
    CHECK(lists.of({w}) == program->workers[static_cast<std::size_t>(w)]);
  return compared;
}

// Everything that can be asked for besides sizes.
std::vector<ScheduleRequest> variants(const Schedule& row, const ScheduleRequest& plain) {
  std::vector<ScheduleRequest> list{plain};
  const auto with = [&](auto change) { change(list.emplace_back(plain)); };
  with([](auto& r) { r.early_sends = false; });
  with([](auto& r) { r.recompute = true; });
  if (flushes(row)) with([](auto& r) { r.sync_gradients = true; });
  if (row.vertical) with([](auto& r) { r.vertical_sync = true; });
  if (takes_warmup(row)) with([](auto& r) { r.warmup = Warmup::Double; });
  if (takes_warmup(row)) with([](auto& r) { r.warmup = Warmup::Full; });
  if (takes_gradient_rule(row)) with([](auto& r) { r.recomputed_gradient = true; });
  if (row.training.mixes) with([](auto& r) { r.mix.stash = false; });
  const int parts = model_parts(row, plain.stages, plain.virtual_stages);
  if (parts > 2) with([&](auto& r) { r.tied = {{0}, {parts - 1}}; });
  return list;
}

}  // namespace

TEST_CASE(
    "every schedule, a grid of sizes: the numbers and lists of its program, to the last bit") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const auto& row : schedules()) {
    int compared = 0;
    for (const int stages : {1, 2, 3, 4, 6})
      for (const int microbatches : {1, 2, 3, 4, 6, 12})
        for (const int minibatches : {1, 2, 5})
          for (const int virtual_stages : {1, 2, 3}) {
            if (virtual_stages > 1 && row.parts != Parts::VirtualStages) continue;
            const ScheduleRequest plain{.schedule = std::string(row.name),
                                        .stages = stages,
                                        .microbatches = microbatches,
                                        .minibatches = minibatches,
                                        .virtual_stages = virtual_stages,
                                        .early_sends = true};
            for (const auto& request : variants(row, plain)) compared += compare(request, random);
          }
    CAPTURE(row.name);
    CHECK(compared > 100);
  }
}

TEST_CASE("shown sizes of the schedules that never drain: the numbers of their programs") {
  std::mt19937 random(7);
  for (const auto& row : schedules())
    for (const int microbatches : {1, 7, 16}) {
      ScheduleRequest request{.schedule = std::string(row.name),
                              .stages = 8,
                              .microbatches = microbatches,
                              .early_sends = true};
      request.minibatches = shown_minibatches(row, request);
      compare(request, random);
    }
}

TEST_CASE("closed forms at 1,024 stages and 2,048 micro-batches, exactly") {
  const int p = 1024, n = 2048;
  const auto summary = [&](const char* name, const StageCosts& times, int virtual_stages = 1) {
    const ScheduleRequest request{.schedule = name,
                                  .stages = p,
                                  .microbatches = n,
                                  .virtual_stages = virtual_stages,
                                  .early_sends = true};
    return summarize(make_compact(require_schedule(name), request), {.all = times});
  };
  for (const char* name : {"gpipe", "1f1b"}) {
    const Summary line = summary(name, {1, 1, 1, 0});
    CHECK(line.makespan == (n + p - 1) * 3.0);
    CHECK(line.bubble == Approx(double(p - 1) / (n + p - 1)).epsilon(1e-13));
    for (int s = 0; s < p; ++s) {
      if (line.idle[static_cast<std::size_t>(s)] != (p - 1 - s) * 3.0) FAIL_CHECK("idle of " << s);
      const int most = std::string(name) == "gpipe" ? n : std::min(n, p - s);
      if (line.peak_activations[static_cast<std::size_t>(s)] != most) FAIL_CHECK("peak of " << s);
    }
  }
  CHECK(summary("zb_h1", {1, 1, 1, 0}).makespan == n * 3.0 + p - 1);
  CHECK(summary("zb_h2", {1, 1, 1, 0}).makespan == n * 3.0 + p - 1);
  CHECK(summary("zb_v", {1, 1, 1, 0}).makespan == n * 6.0 + p - 1);
  CHECK(summary("interleaved_1f1b", {1, 1, 1, 0}, 2).makespan == (n * 2 + p - 1) * 3.0);
  CHECK(summary("chimera", {1, 1, 1, 0}).makespan ==
        n * 3.0 + (p - 2) * 2.0 + (n / p - 1) * (p - 2) * 1.0);
}

TEST_CASE("an order that waits forever is refused, and says where") {
  CompactOrder order = orders::one_f_one_b.compact({.stages = 2, .microbatches = 2});
  const auto run = [&](std::vector<ComputeInstruction> list) {
    order.workers[0] = {};
    for (const ComputeInstruction i : list) order.workers[0].push_back(i);
  };
  const ComputeInstruction f0(Op::Forward, {0}, {0}), f1 = f0.later(1);
  const ComputeInstruction b0(Op::Backward, {0}, {0}), b1 = b0.later(1);
  run({f0, b0, f1, b1});
  CHECK(summarize(order, {}).makespan > 0);
  run({b0, f0, f1, b1});
  CHECK_THROWS_WITH(summarize(order, {}), Contains("waits forever at 0B0"));
}
