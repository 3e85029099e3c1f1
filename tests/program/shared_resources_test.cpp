// What simulations know besides the order: links that transfers share, transfers that occupy both
// workers, forwards and backwards that share a worker, stragglers and jitter.
#include <cmath>
#include <map>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "compact_schedule.hpp"
#include "order/orders.hpp"
#include "program/channel.hpp"
#include "program/check.hpp"
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

TEST_CASE("which transfer is first on a shared link depends on time, not on the worker") {
  // Stage 0 sends at 1, 2 and 3; stage 1 in between, at 2.25, 3.25 and 4.25: the link is free.
  Costs costs{.all = {1, 1, 1, 0.25}};
  const ScheduleRequest request{.schedule = "gpipe", .stages = 3, .microbatches = 3};
  const Summary alone = summary_of(request, costs);
  costs.links.activations = {0, 0};
  CHECK(summary_of(request, costs) == alone);
}

TEST_CASE("links that are not shared change no bit, under any schedule") {
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

TEST_CASE("1f1b when a transfer occupies both workers: (M+N-1)(F+B) + (2(N+M-2)-1) SR") {
  // With two stages every transfer but the first and the last runs beside an opposite one: M + 1.
  std::mt19937 random(11);
  for (int n = 2; n <= 7; ++n)
    for (int m = 1; m <= 12; ++m) {
      const double f = 1 + random() % 8, b = 1 + random() % 8, sr = 0.125;
      Costs costs{.all = {f, b, 0, sr}};
      costs.charges = Charges::Workers;
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

TEST_CASE(
    "transfers that occupy both workers: the straight orders finish, others say where they wait") {
  Costs costs{.all = {1, 1, 1, 0.5}};
  costs.charges = Charges::Workers;
  for (const char* name : {"gpipe", "1f1b", "zb_h1", "chimera", "pipedream", "timeprest"})
    for (const int p : {2, 4, 6})
      CHECK(summary_of({.schedule = name, .stages = p, .microbatches = 12, .minibatches = 3}, costs)
                .makespan > 0);
  CHECK_THROWS_WITH(summary_of({.schedule = "zb_h2", .stages = 4, .microbatches = 8}, costs),
                    Contains("worker 0 waits forever at ") && Contains("the order of 1f1b"));
}

TEST_CASE("transfers that occupy both workers: a program's numbers are those of its order") {
  std::mt19937 random(17);
  std::uniform_real_distribution<double> time(0.1, 3);
  for (const char* name : {"gpipe", "1f1b", "1f1b_sno", "zb_h1"})
    for (const int stages : {1, 2, 3, 5})
      for (const bool recompute : {false, true})
        for (const bool sync : {false, true}) {
          if (recompute && std::string(name) == "zb_h1") continue;  // waits forever then
          const ScheduleRequest request{.schedule = name,
                                        .stages = stages,
                                        .microbatches = 7,
                                        .minibatches = 2,
                                        .sync_gradients = sync,
                                        .recompute = recompute};
          Costs costs{.all = {}, .charges = Charges::Workers};
          for (int s = 0; s < stages; ++s)
            costs.per_stage.push_back({time(random), time(random), time(random), time(random)});
          const Summary walked = summary_of(request, costs);
          CAPTURE(name, stages, recompute, sync);
          CHECK(Summary(simulate(make_program(request), costs)) == walked);
        }
}

TEST_CASE(
    "a transfer that occupies workers lasts equally long on both, and neither computes meanwhile") {
  Costs costs{.all = {1, 1, 1, 0.5}, .charges = Charges::Workers};
  const Program program = make_program({.schedule = "1f1b_sno", .stages = 3, .microbatches = 6});
  const Timeline line = simulate(program, costs);
  CHECK(line.makespan == (6 + 3 - 1) * 3 + (2 * (3 + 6 - 2) - 1) * 0.5);
  std::map<ChannelId, std::vector<Span>> sent, received;
  int paired = 0;
  for (std::size_t w = 0; w < 3; ++w)
    for (std::size_t at = 0; at < program.workers[w].size(); ++at) {
      const Instruction& i = program.workers[w][at];
      if (!is_send(i.op) && !is_receive(i.op)) continue;
      const Span& span = line.spans[w][at];
      (is_send(i.op) ? sent : received)[channel_of(program, i)].push_back(span);
      CHECK(span.end == span.start + 0.5);
      for (std::size_t other = 0; other < program.workers[w].size(); ++other) {
        const Span& its = line.spans[w][other];
        const bool overlaps = its.start < span.end && span.start < its.end;
        if (computes(program.workers[w][other].op)) CHECK_FALSE(overlaps);
        paired += other != at && overlaps;
      }
    }
  CHECK(sent == received);
  CHECK(paired > 0);
}

TEST_CASE("check finds what waits forever when transfers occupy both workers") {
  const auto problems = [](const char* schedule, bool rendezvous) {
    const Program program = make_program({.schedule = schedule, .stages = 4, .microbatches = 8});
    return check(program, {.rendezvous = rendezvous});
  };
  CHECK(problems("1f1b", true).empty());
  CHECK(problems("1f1b_sno", true).empty());
  CHECK(problems("zb_h2", false).empty());
  const auto stuck = problems("zb_h2", true);
  REQUIRE_FALSE(stuck.empty());
  CHECK(stuck[0].rule == "deadlock");
  CHECK_THAT(stuck[0].message,
             Contains("worker 0 waits forever at") && Contains("the transfer occupies both"));
}

TEST_CASE("the rows of BaPipe take the time that its formulas give, as programs and as orders") {
  for (const int n : {1, 2, 4, 5})
    for (const int m : {1, 3, 8, 16}) {
      const Costs costs{.all = {2, 3, 1, 0.5}};
      const auto numbers = [&](const char* name) {
        const ScheduleRequest request{.schedule = name, .stages = n, .microbatches = m};
        const Summary walked = summary_of(request, costs);
        CHECK(Summary(simulate(make_program(request), charged(require_schedule(name), costs))) ==
              walked);
        return walked;
      };
      CAPTURE(n, m);
      const Summary sno = numbers("1f1b_sno"), fbp = numbers("fbp_as");
      const int turns = n == 1 ? 0 : m == 1 ? 2 * (n - 1) : n == 2 ? m + 1 : 2 * (n + m - 2) - 1;
      CHECK(sno.makespan == (m + n - 1) * 6 + turns * 0.5);
      CHECK(fbp.makespan == Approx((m + n - 1) * 6 + 2 * (n - 1) * 0.5));
      for (int s = 0; s < n; ++s) {
        CHECK(sno.peak_activations[static_cast<std::size_t>(s)] == std::min(m, n - s));
        CHECK(fbp.peak_activations[static_cast<std::size_t>(s)] <= std::min(m, 2 * (n - s)));
      }
    }
}

TEST_CASE("the warm-up that a row fixes wins, and its gradients are not sent early") {
  for (const char* name : {"1f1b_sno", "fbp_as"}) {
    const Schedule& row = require_schedule(name);
    CHECK_FALSE(takes_warmup(row));
    ScheduleRequest request{.schedule = name, .stages = 4, .microbatches = 8};
    const Program program = make_program(request);
    request.warmup = Warmup::Double;
    request.early_sends = true;
    CHECK(make_program(request) == program);
    const ScheduleRequest same{
        .schedule = "1f1b", .stages = 4, .microbatches = 8, .warmup = *row.warmup};
    CHECK(make_program(same) == program);
  }
}

TEST_CASE("forwards and backwards side by side: updates take time, and wait for others") {
  Costs costs{.all = {1, 2, 0, 0, 0, 0.5}, .charges = Charges::SideBySide};
  ScheduleRequest request{.schedule = "fbp_as", .stages = 3, .microbatches = 4, .minibatches = 2};
  const double step = (4 + 3 - 1) * 3;
  // Stage 0 ends last, so that its update is between the two mini-batches.
  CHECK(summary_of(request, costs).makespan == Approx(2 * step + 2 * 0.5));
  request.recompute = true;
  CHECK(summary_of(request, costs).makespan == Approx(2 * (4 + 3 - 1) * 4 + 2 * 0.5));
  request.recompute = false;
  costs.per_stage = {costs.all, costs.all, costs.all};
  costs.per_stage[2].update = 20;  // alone, it is half done when the others have come back
  const double alone = summary_of(request, costs).makespan;
  request.sync_gradients = true;
  CHECK(summary_of(request, costs).makespan > alone + 5);
  CHECK(Summary(simulate(make_program(request), costs)) == summary_of(request, costs));
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

TEST_CASE("fbp_as pays transfers up to (F + B) / 2 while it fills and drains only") {
  for (const int n : {2, 4, 8})
    for (const int m : {4, 16, 64})
      for (const double f : {1.0, 3.0}) {
        const auto makespan = [&](double sr) {
          return summary_of({.schedule = "fbp_as", .stages = n, .microbatches = m},
                            {.all = {f, 2, 0, sr}})
              .makespan;
        };
        CAPTURE(n, m, f);
        const double hidden = (f + 2) / 2;
        for (const double sr : {0.3, 1.0, hidden})
          CHECK(makespan(sr) == Approx((m + n - 1) * (f + 2) + 2 * (n - 1) * sr));
        if (m == 64 && n > 2)
          CHECK(makespan(2 * hidden) > (m + n - 1) * (f + 2) + 2 * (n - 1) * 2 * hidden + 1);
      }
}

TEST_CASE("a worker that both directions share is busy as long as one on which they take turns") {
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

TEST_CASE("if steps vary, more in flight loses less, and never draining stays ahead") {
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
