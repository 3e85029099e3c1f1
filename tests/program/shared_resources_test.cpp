// What simulations know besides the order: links that transfers share, transfers that occupy both
// workers, forwards and backwards that share a worker, stragglers and jitter.
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "compact_schedule.hpp"
#include "order/orders.hpp"
#include "program/sharing.hpp"
#include "program/summarize.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

Summary summary_of(const ScheduleRequest& request, const Costs& costs) {
  return summarize(make_compact(require_schedule(request.schedule), request), costs);
}

std::vector<int> numbered(int count, int first) {
  std::vector<int> list;
  for (int n = 0; n < count; ++n) list.push_back(first + n);
  return list;
}

}  // namespace

TEST_CASE("transfers on a shared link take turns, first come, first served") {
  // Transfers take 2. The second activation leaves stage 0 at 3, when the first is over; the first
  // one of stage 1 is ready at 4 and waits for it until 5. Gradients have links of their own.
  //   link      0:0 from 1 to 3, 0:1 to 5, 1:0 to 7, 1:1 to 9
  //   stage 2   F0 at 7, F1 at 9, B1 at 10, B0 at 12
  Costs costs{.all = {1, 1, 1, 2}};
  const ScheduleRequest request{.schedule = "gpipe", .stages = 3, .microbatches = 2};
  CHECK(summary_of(request, costs).makespan == 21);
  costs.links.activations = {0, 0};
  CHECK(summary_of(request, costs).makespan == 22);
  // One link for both directions is free of activations before the first gradient: no more waits.
  costs.links.gradients = {0, 0};
  CHECK(summary_of(request, costs).makespan == 22);
  costs.links = {.activations = {0, -1}, .gradients = {}};
  CHECK(summary_of(request, costs).makespan == 21);
}

TEST_CASE("who is first on a shared link goes by time, not by worker") {
  // Stage 0 sends at 1, 2 and 3; stage 1 in between, at 2.25, 3.25 and 4.25: the link is free.
  Costs costs{.all = {1, 1, 1, 0.25}};
  const ScheduleRequest request{.schedule = "gpipe", .stages = 3, .microbatches = 3};
  const Summary alone = summary_of(request, costs);
  costs.links.activations = {0, 0};
  CHECK(summary_of(request, costs) == alone);
}

TEST_CASE("links that nobody shares change no bit, under any schedule") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> time(0.1, 3);
  for (const auto& row : schedules())
    for (const int stages : {2, 4, 6}) {
      ScheduleRequest request{.schedule = std::string(row.name),
                              .stages = stages,
                              .microbatches = 12,
                              .virtual_stages = 2,
                              .early_sends = true};
      request.minibatches = shown_minibatches(row, request);
      const int parts = model_parts(row, stages, request.virtual_stages);
      Costs costs;
      for (int s = 0; s < parts; ++s)
        costs.per_stage.push_back({time(random), time(random), time(random), time(random), 0.1});
      const Summary alone = summary_of(request, costs);
      if (row.name == "chimera") continue;  // two workers send over the same boundary
      costs.links.activations = numbered(parts, 0);
      costs.links.gradients = numbered(parts, parts);
      CAPTURE(row.name, stages);
      CHECK(summary_of(request, costs) == alone);
    }
}

TEST_CASE("one link for all: no faster than its transfers one after the other") {
  for (const int p : {2, 4, 8})
    for (const int n : {1, 4, 16}) {
      Costs costs{.all = {1, 1, 1, 5}};
      costs.links.activations = costs.links.gradients =
          std::vector<int>(static_cast<std::size_t>(p), 0);
      const Summary line = summary_of({.schedule = "1f1b", .stages = p, .microbatches = n}, costs);
      CAPTURE(p, n, line.makespan);
      CHECK(line.makespan >= 2 * (p - 1) * n * 5 + 3);
      CHECK(line.makespan <= 2 * (p - 1) * n * 5 + (n + p - 1) * 3);
    }
}

TEST_CASE("1f1b where a transfer occupies both workers: (M+N-1)(F+B) + (2(N+M-2)-1) SR") {
  // With two stages every transfer but the first and the last runs beside an opposite one: M + 1.
  std::mt19937 random(11);
  for (int n = 2; n <= 7; ++n)
    for (int m = 1; m <= 12; ++m) {
      const double f = 1 + random() % 8, b = 1 + random() % 8, sr = 0.125;
      Costs costs{.all = {f, b, 0, sr}};
      costs.transfers_occupy_workers = true;
      const Summary line = summary_of({.schedule = "1f1b", .stages = n, .microbatches = m}, costs);
      const int turns = m == 1 ? 2 * (n - 1) : n == 2 ? m + 1 : 2 * (n + m - 2) - 1;
      CAPTURE(n, m, f, b);
      CHECK(line.makespan == (m + n - 1) * (f + b) + turns * sr);
      for (int s = 0; s < n; ++s)
        CHECK(line.peak_activations[static_cast<std::size_t>(s)] == std::min(m, n - s));
      const Summary gpipe =
          summary_of({.schedule = "gpipe", .stages = n, .microbatches = m}, costs);
      CHECK(gpipe.makespan == (m + n - 1) * (f + b) + 2 * (n + m - 2) * sr);
    }
}

TEST_CASE("transfers that occupy both workers: the straight orders finish, others say where not") {
  Costs costs{.all = {1, 1, 1, 0.5}};
  costs.transfers_occupy_workers = true;
  for (const char* name : {"gpipe", "1f1b", "zb_h1", "chimera", "pipedream", "timeprest"})
    for (const int p : {2, 4, 6})
      CHECK(summary_of({.schedule = name, .stages = p, .microbatches = 12, .minibatches = 3}, costs)
                .makespan > 0);
  CHECK_THROWS_WITH(summary_of({.schedule = "zb_h2", .stages = 4, .microbatches = 8}, costs),
                    Contains("worker 0 waits for ever at ") && Contains("the order of 1f1b"));
}

TEST_CASE("fbp_as: (M+N-1)(F+B), at most 2(N-i+1) in flight, whatever F and B are") {
  std::mt19937 random(13);
  std::uniform_real_distribution<double> time(0.1, 5);
  for (int n = 1; n <= 6; ++n)
    for (int m = 1; m <= 16; ++m) {
      const double f = time(random), b = time(random);
      CAPTURE(n, m, f, b);
      const Summary line = summarize_sharing(
          orders::one_f_one_b.compact({.stages = n, .microbatches = m, .warmup = Warmup::Full}),
          {.all = {f, b, 0, 0}});
      CHECK(line.makespan == Approx((m + n - 1) * (f + b)));
      CHECK(line.bubble == Approx(double(n - 1) / (m + n - 1)).margin(1e-9));
      for (int s = 0; s < n; ++s)
        CHECK(line.peak_activations[static_cast<std::size_t>(s)] <= std::min(m, 2 * (n - s)));
    }
  const Summary usual = summarize_sharing(
      orders::one_f_one_b.compact({.stages = 4, .microbatches = 12, .warmup = Warmup::Full}), {});
  CHECK(usual.peak_activations == std::vector{8, 6, 4, 2});
}

TEST_CASE("a worker that two share is busy as long as one that takes turns") {
  const auto order = orders::one_f_one_b.compact({.stages = 3, .microbatches = 8});
  const Costs costs{.all = {1, 2, 0, 0.5}};
  const Summary turns = summarize(order, costs), shared = summarize_sharing(order, costs);
  CHECK(turns.makespan * (1 - turns.bubble) == Approx(shared.makespan * (1 - shared.bubble)));
}

TEST_CASE("jitter has mean 1, belongs to the work and not to the worker, and follows the seed") {
  const Disturbance jitter{.slowdown = {}, .jitter = 0.5, .seed = 4};
  double sum = 0, squares = 0;
  const int count = 200000;
  for (int m = 0; m < count; ++m) {
    const double factor = factor_of(jitter, {0}, {m % 7}, {m}, m % 2 ? Op::Forward : Op::Backward);
    sum += factor;
    squares += std::log(factor) * std::log(factor);
    if (m < 100)
      CHECK(factor == factor_of(jitter, {5}, {m % 7}, {m}, m % 2 ? Op::Forward : Op::BackwardTail));
  }
  CHECK(sum / count == Approx(1).epsilon(0.01));
  CHECK(squares / count == Approx(0.25 + 0.125 * 0.125).epsilon(0.02));
  auto other = jitter;
  other.seed = 5;
  CHECK(factor_of(other, {0}, {1}, {1}, Op::Forward) !=
        factor_of(jitter, {0}, {1}, {1}, Op::Forward));
}

TEST_CASE("a straggler paces the pipeline") {
  Costs slow{.all = {1, 1, 1, 0}};
  slow.disturbance.slowdown = {1, 1, 2, 1};
  // The third stage takes 6 for a micro-batch: 64 of them, the first forward's way there, the wait
  // for the first backward of the last stage (from 6 to 7), and the last backward's way back.
  CHECK(summary_of({.schedule = "1f1b", .stages = 4, .microbatches = 64}, slow).makespan ==
        2 + 64 * 6 + 1 + 4);
}

TEST_CASE("where steps vary, more in flight loses less, and never draining stays ahead") {
  Costs even{.all = {1, 1, 1, 0}}, uneven = even;
  uneven.disturbance = {.slowdown = {}, .jitter = 0.4, .seed = 1};
  const auto makespan = [&](const char* name, Warmup warmup, const Costs& costs) {
    return summary_of({.schedule = name,
                       .stages = 4,
                       .microbatches = 8,
                       .minibatches = 50,
                       .warmup = warmup},
                      costs)
        .makespan;
  };
  for (const char* name : {"1f1b", "pipedream"}) {
    const auto loss = [&](Warmup warmup) {
      return makespan(name, warmup, uneven) - makespan(name, warmup, even);
    };
    CHECK(loss(Warmup::Double) > 0);
    CHECK(loss(Warmup::Double) < loss(Warmup::OneFOneB));
  }
  CHECK(makespan("pipedream", Warmup::OneFOneB, uneven) <
        makespan("1f1b", Warmup::OneFOneB, uneven));
}
