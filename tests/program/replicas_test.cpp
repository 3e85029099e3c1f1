// Stages with replicas: who runs what, in which order, with which versions; what holds for all
// their programs, and what is refused.
#include "order/replicas.hpp"

#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "compact_schedule.hpp"
#include "program/check.hpp"
#include "program/fold.hpp"
#include "program/liveness.hpp"
#include "program/simulate.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

using List = std::vector<int>;

// "0F0 0B0" of one worker: what it computes.
std::string computed(const Program& program, int worker) {
  std::string text;
  for (const Instruction& i : program.workers[worker])
    if (computes(i.op) || i.op == Op::Update)
      text += (text.empty() ? "" : " ") + short_text({i.op, i.stage, i.microbatch, {}});
  return text;
}

ScheduleRequest request_of(std::string schedule, const List& replicas, int microbatches,
                           int minibatches = 1) {
  return {.schedule = std::move(schedule),
          .stages = static_cast<int>(replicas.size()),
          .microbatches = microbatches,
          .minibatches = minibatches,
          .replicas = replicas};
}

// Forwards of a replica that precede its first backward, not counting that backward's own.
int warmup_of(const Program& program, int worker) {
  int forwards = 0;
  for (const Instruction& i : program.workers[worker]) {
    forwards += i.op == Op::Forward;
    if (is_backward(i.op)) break;
  }
  return forwards - 1;
}

}  // namespace

TEST_CASE("replicas share the micro-batches of a mini-batch in turn", "[replicas]") {
  const Program program = make_program(request_of("1f1b", {3, 1}, 6));
  CHECK(program.workers.size() == 4);
  CHECK(program.placement == std::vector<std::vector<WorkerId>>{{{0}, {1}, {2}}, {{3}}});
  CHECK(computed(program, 0) == "0F0 0F3 0B0 0B3 0U5");
  CHECK(computed(program, 1) == "0F1 0F4 0B1 0B4 0U5");
  CHECK(computed(program, 3) == "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1F4 1B4 1F5 1B5 1U5");
  CHECK(program.syncing_stages() == std::set<StageId>{{0}});  // the other stage waits for no other
}

TEST_CASE("PipeDream's 1F1B-RR: mini-batches in turn, one update for one of each replica",
          "[replicas]") {
  const Program program = make_program(request_of("pipedream", {2, 1}, 1, 5));
  CHECK(computed(program, 0) == "0F0 0F2 0B0 0U1 0F4 0B2 0U3 0B4 0U4");
  CHECK(computed(program, 1) == "0F1 0F3 0B1 0U1 0B3 0U3 0U4");  // no mini-batch of the last update
  CHECK(computed(program, 2) == "1F0 1B0 1U0 1F1 1B1 1U1 1F2 1B2 1U2 1F3 1B3 1U3 1F4 1B4 1U4");
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      if (i.op == Op::Update && i.stage == StageId{0})
        CHECK(i.weights.version.value == i.microbatch.value / 2 + 1);
}

TEST_CASE("a replica runs as far ahead as PipeDream counts", "[replicas]") {
  for (const List& r : {List{2, 1}, List{3, 1}, List{1, 3, 1}, List{2, 2}, List{4, 2, 1},
                        List{1, 1, 4}, List{5, 3, 2, 1}})
    for (const std::string schedule : {"1f1b", "pipedream"}) {
      CAPTURE(r, schedule);
      const int all = std::accumulate(r.begin(), r.end(), 0);
      const Program program = schedule == "1f1b"
                                  ? make_program(request_of(schedule, r, 8 * all))
                                  : make_program(request_of(schedule, r, 1, 8 * all));
      int before = 0;
      for (StageId s{0}; s.value < std::ssize(r); ++s.value) {
        for (int copy = 0; copy < r[s.value]; ++copy)
          CHECK(warmup_of(program, program.worker_of_copy(s, copy).value) ==
                (all - 1 - before) / r[s.value]);
        before += r[s.value];
      }
    }
}

TEST_CASE("equal replicas are pipelines side by side", "[replicas]") {
  for (const std::string schedule : {"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2"}) {
    ScheduleRequest request = request_of(schedule, {2, 2, 2}, 12);
    request.virtual_stages = 2;
    ScheduleRequest half = request;
    half.replicas = {};
    half.microbatches = 6;
    const Program both = make_program(request), one = make_program(half);
    CAPTURE(schedule);
    CHECK(simulate(both, {}).makespan == simulate(one, {}).makespan);
    for (int w = 0; w < 3; ++w)
      for (int copy = 0; copy < 2; ++copy) {
        std::vector<std::pair<Op, int>> expected, got;
        for (const Instruction& i : one.workers[w])
          if (computes(i.op)) expected.push_back({i.op, 2 * i.microbatch.value + copy});
        for (const Instruction& i : both.workers[2 * w + copy])
          if (computes(i.op)) got.push_back({i.op, i.microbatch.value});
        CHECK(got == expected);
      }
  }
}

TEST_CASE("1F1B-RR keeps every stage busy if replicas make up for its time", "[replicas]") {
  // Stage 0 takes three times as long, and has three workers.
  const Costs costs{.all = {}, .per_stage = {{3, 3, 3}, {1, 1, 1}}};
  const auto takes = [&](const std::string& schedule, int microbatches, int minibatches) {
    return simulate(make_program(request_of(schedule, {3, 1}, microbatches, minibatches)), costs)
        .makespan;
  };
  CHECK(takes("1f1b", 60, 1) - takes("1f1b", 30, 1) == 30 * 3);
  CHECK(takes("pipedream", 1, 60) - takes("pipedream", 1, 30) == 30 * 3);
  // Replicas that take several micro-batches in a row wait for each other at their update.
  for (const int n : {2, 4}) {
    const double steady = takes("pipedream", n, 60) - takes("pipedream", n, 30);
    CHECK(steady >= 30 * 3 * n);
    CHECK(steady <= 1.15 * 30 * 3 * n);
  }
}

TEST_CASE("programs with replicas are well-formed, and are summarized as they are simulated",
          "[replicas]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::uniform_real_distribution<double> time(0.1, 3);
  std::map<std::string_view, int> made;
  for (int n = 0; n < 400; ++n)
    for (const Schedule& row : schedules()) {
      if (!takes_replicas(row)) continue;
      ScheduleRequest request{.schedule = std::string(row.name),
                              .stages = 1 + below(4),
                              .microbatches = 1 + below(13),
                              .minibatches = 1 + below(flushes(row) ? 3 : 14),
                              .sync_gradients = flushes(row) && below(3) == 0,
                              .virtual_stages = 1 + below(2),
                              .recompute = below(4) == 0,
                              .early_sends = below(2) == 0};
      if (takes_warmup(row)) request.warmup = static_cast<Warmup>(below(3));
      const int equal = below(2) == 0 ? 1 + below(4) : 0;
      for (int s = 0; s < request.stages; ++s)
        request.replicas.push_back(equal > 0 ? equal : 1 + below(4));
      CAPTURE(row.name, request.replicas, request.microbatches, request.minibatches, request.warmup,
              request.virtual_stages, request.early_sends, request.recompute,
              request.sync_gradients);
      std::optional<Program> program;
      try {
        program = make_program(request);  // checked
      } catch (const UsageError& error) {
        CHECK(std::string(error.what()).find("write ") != std::string::npos);
        continue;
      }
      if (program->has_copies()) ++made[row.name];
      CHECK(static_cast<int>(program->workers.size()) == workers_of(request));
      CHECK(parse_program(to_text(*program)) == *program);
      const CompactSchedule compact = make_compact(row, request);
      Costs costs;
      for (int s = 0; s < program->stages; ++s)
        costs.per_stage.push_back({time(random), time(random), time(random), time(random), 0.05,
                                   below(2) == 0 ? time(random) : 0});
      const Summary expected = simulate(*program, costs), got = summarize(compact, costs);
      CHECK(got.makespan == expected.makespan);
      CHECK(got.bubble == expected.bubble);
      CHECK(got.idle == expected.idle);
      CHECK(got.peak_activations == expected.peak_activations);
      CHECK(got.peak_weight_versions == expected.peak_weight_versions);
      if (request.recompute) continue;
      WorkerLists lists(compact);
      for (WorkerId w{0}; w.value < std::ssize(program->workers); ++w.value)
        CHECK(lists.of(w) == program->workers[w]);
    }
  for (const Schedule& row : schedules()) {
    CAPTURE(row.name);
    if (takes_replicas(row)) CHECK(made[row.name] > 0);
  }
}

TEST_CASE("the longest warm-up is refused if stages differ in replicas: workers would wait forever",
          "[replicas]") {
  for (const std::string schedule : {"1f1b", "pipedream"}) {
    ScheduleRequest request = request_of(schedule, {1, 4, 1}, 13);
    CHECK_NOTHROW(make_program(request));
    request.warmup = Warmup::Full;
    CHECK_THROWS_WITH(
        make_program(request),
        Contains("warmup = \"full\" needs the same number of replicas on every stage"));
    request.replicas = {4, 4, 4};
    CHECK_NOTHROW(make_program(request));
  }
}

TEST_CASE("a long program with replicas is one round over and over", "[replicas]") {
  for (const List& replicas : {List{2, 1}, List{3, 1}, List{2, 3}, List{2, 2}, List{4, 2, 1}})
    for (const int n : {1, 3})
      for (const Warmup warmup : {Warmup::OneFOneB, Warmup::Double, Warmup::Full}) {
        if (warmup == Warmup::Full && replicas != List{2, 2}) continue;  // refused
        CAPTURE(replicas, n, warmup);
        ScheduleRequest request = request_of("pipedream", replicas, n);
        request.warmup = warmup;
        const Schedule& row = require_schedule("pipedream");
        const int enough = steady_minibatches(row, request);
        const auto of = [&](int minibatches) {
          request.minibatches = minibatches;
          return make_program(request);
        };
        const int round = of(1).minibatches_per_round();
        for (int rest = 0; rest < round; ++rest) {
          const auto folded = fold(of(enough + rest), of(enough + rest + round));
          REQUIRE(folded);
          CHECK(unfold(*folded, 4) == of(enough + rest + 4 * round));
          CHECK(unfold(*folded, 0) == of(enough + rest));
        }
      }
}

TEST_CASE("replicas that a schedule cannot have are refused by its rule", "[replicas]") {
  const auto refusal = [](const ScheduleRequest& request) -> std::string {
    try {
      make_program(request);
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  for (const Schedule& row : schedules())
    if (!takes_replicas(row)) {
      CAPTURE(row.name);
      CHECK_THAT(refusal(request_of(std::string(row.name), {2, 2}, 4)),
                 Contains("runs without replicas") && Contains("1f1b"));
    }
  CHECK_THAT(refusal(request_of("pipedream_2bw", {2, 1}, 8)),
             Contains("same number of replicas") && Contains("write replicas = 2"));
  CHECK_THAT(refusal(request_of("interleaved_1f1b", {2, 1}, 12)),
             Contains("same number of replicas"));
  CHECK_THAT(refusal(request_of("interleaved_1f1b", {2, 2}, 6)),
             Contains("multiple of 4") && Contains("write microbatches = 4 or 8"));
  CHECK_THAT(refusal(request_of("pipedream_2bw", {2, 2}, 3)), Contains("write microbatches = 4"));
  CHECK_THAT(refusal(request_of("1f1b", {3, 1}, 2)), Contains("write microbatches = 3"));
  ScheduleRequest vertical = request_of("pipedream", {2, 1}, 1);
  vertical.vertical_sync = true;
  CHECK_THAT(refusal(vertical), Contains("vertical_sync = false"));
  ScheduleRequest tied = request_of("1f1b", {2, 1}, 4);
  tied.tied = {{0}, {1}};
  CHECK_THAT(refusal(tied), Contains("share a parameter"));
  ScheduleRequest few = request_of("1f1b", {2, 1, 1}, 4);
  few.stages = 4;
  CHECK_THAT(refusal(few), Contains("one number for each stage"));
  CHECK_THAT(refusal(request_of("1f1b", {1000, 100}, 2000)), Contains("1024 is the limit"));
  CHECK_THAT(refusal(request_of("pipedream", {31, 37}, 1)), Contains("divide each other"));
}
