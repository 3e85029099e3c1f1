// --times: its text, what it means for a program, and what is refused.
#include "program/times.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "program/simulate.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

Costs costs_of(const std::string& times, const ScheduleRequest& request) {
  return costs_of(times.empty() ? Times{} : parse_times(times), make_program(request),
                  request.schedule);
}

std::vector<double> numbers(const StageCosts& c) {
  return {c.forward, c.backward_input, c.backward_weight, c.transfer};
}

double makespan(const std::string& times, const ScheduleRequest& request) {
  return simulate(make_program(request), costs_of(times, request)).makespan;
}

}  // namespace

TEST_CASE("a time not named keeps its default; B is the whole backward, or with W its input half") {
  using Numbers = std::vector<double>;
  const auto named = [](const std::string& times) {
    return numbers(costs_of(times, {"zb_h1", 2, 2}).per_stage[0]);
  };
  CHECK(named("") == Numbers{1, 1, 1, 0});
  CHECK(named("F=3") == Numbers{3, 1, 1, 0});
  CHECK(named("B=3,transfer=0.5") == Numbers{1, 1.5, 1.5, 0.5});
  CHECK(named("F=1,B=1,W=1") == Numbers{1, 1, 1, 0});
  CHECK(named("W=0.5,B=4") == Numbers{1, 4, 0.5, 0});
  CHECK(named("W=3") == Numbers{1, 1, 3, 0});  // the input half keeps its 1
  CHECK(named("B=2,W=0") == Numbers{1, 2, 0, 0});
}

TEST_CASE("if backwards go together, B and W are those of a whole mini-batch") {
  using Numbers = std::vector<double>;
  const auto named = [](const std::string& times) {
    return numbers(costs_of(times, {"timeprest", 2, 4, 2}).per_stage[0]);
  };
  CHECK(named("") == Numbers{1, 1, 1, 0});  // B = 2N
  CHECK(named("B=8") == Numbers{1, 1, 1, 0});
  CHECK(named("B=1") == Numbers{1, 0.125, 0.125, 0});
  CHECK(named("B=1,W=2") == Numbers{1, 0.25, 0.5, 0});
  CHECK(named("W=2") == Numbers{1, 1, 0.5, 0});
}

TEST_CASE("split backwards answer the previous stage sooner: zb_h1 is faster than 1f1b") {
  for (const char* times : {"", "F=1,B=2", "F=1,B=2,transfer=0.5", "B=3"}) {
    CAPTURE(times);
    CHECK(makespan(times, {"zb_h1", 4, 8}) < makespan(times, {"1f1b", 4, 8}));
  }
  CHECK(makespan("B=2,transfer=0.5", {"1f1b", 4, 8}) == 41);
  CHECK(makespan("F=1,B=1,W=1", {"zb_h1", 4, 8}) == 27);
}

TEST_CASE("a number for each stage, and for each boundary between stages") {
  const auto costs = costs_of("F=1/2/3,B=2/4/6,transfer=0.5/0.25", {"1f1b", 3, 1});
  CHECK(costs.per_stage[2].forward == 3);
  CHECK(costs.per_stage[1].backward_input == 2);
  CHECK(costs.per_stage[0].transfer == 0.5);
  CHECK(costs.per_stage[1].transfer == 0.25);
  CHECK(makespan("F=1/2/3,B=2/4/6,transfer=0.5/0.25", {"1f1b", 3, 1}) == 6 + 12 + 2 * 0.75);
  // A worker's stages have times of their own.
  const ScheduleRequest round{
      .schedule = "interleaved_1f1b", .stages = 2, .microbatches = 2, .virtual_stages = 2};
  CHECK(costs_of("F=1/2/3/4", round).of({3}).forward == 4);
  CHECK_THROWS_WITH(costs_of("F=1/2/3", {"1f1b", 4, 8}),
                    Contains("`F=1/2/3` has 3 numbers, and 1f1b has 4 model stages here") &&
                        Contains("one number for all, or 4"));
  CHECK_THROWS_WITH(costs_of("W=1/2", round), Contains("interleaved_1f1b has 4 model stages"));
  CHECK_THROWS_WITH(costs_of("transfer=1/2/3/4", {"1f1b", 4, 8}),
                    Contains("1f1b has 3 boundaries between stages"));
  CHECK_THROWS_WITH(costs_of("transfer=1/2", {"1f1b", 1, 8}), Contains("one number for all"));
}

TEST_CASE("bad times are refused with an example") {
  for (const char* text : {"",      "F",      "F=",      "F=x",     "F=1x",    "F=-1",     "F=inf",
                           "F=nan", "G=1",    "F=1,",    "F=1;B=2", "f=1",     "=1",       "F=1/",
                           "F=/1",  "F=1//2", "F=1e308", "F=1e400", "F=1,F=2", "F=1/2,F=1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_times(text), UsageError);
    CHECK_THROWS_WITH(parse_times(text), Contains("--times F=1,B=2"));
  }
  CHECK_THROWS_WITH(parse_times("F=1,B=1e308"), Contains("`B=1e308`") && Contains("0 to 1e+15"));
}

TEST_CASE("slowdown is a factor of workers, jitter of every forward and backward by its seed") {
  const auto costs = costs_of("slowdown=1/2,jitter=0.1,seed=7", {"1f1b", 2, 4});
  CHECK(costs.disturbance.slowdown == std::vector<double>{1, 2});
  CHECK(costs.disturbance.jitter == 0.1);
  CHECK(costs.disturbance.seed == 7);
  CHECK(costs_of("slowdown=2", {"zb_v", 3, 4}).disturbance.slowdown == std::vector<double>(3, 2));
  CHECK(costs_of("F=1", {"1f1b", 2, 4}).disturbance.none());
  CHECK(makespan("slowdown=2", {"gpipe", 2, 4}) == 2 * makespan("", {"gpipe", 2, 4}));
  const double once = makespan("jitter=0.1,seed=7", {"gpipe", 2, 4});
  CHECK(once != makespan("", {"gpipe", 2, 4}));
  CHECK(once == makespan("jitter=0.1,seed=7", {"gpipe", 2, 4}));
  CHECK(once != makespan("jitter=0.1,seed=8", {"gpipe", 2, 4}));
  CHECK_THROWS_WITH(costs_of("slowdown=1/2/3", {"zb_v", 2, 4}), Contains("zb_v has 2 workers"));
  for (const char* text : {"jitter=3", "jitter=0.1/0.2", "seed=0.5", "seed=1/2", "slowdown=1/0"})
    CHECK_THROWS_WITH(parse_times(text), Contains(text) && Contains("--times F=1,B=2"));
}

TEST_CASE("an instruction that takes no time is reported, if the schedule has it") {
  const auto lines = [](const std::string& times, const ScheduleRequest& request) {
    return timeless(make_program(request), costs_of(times, request), request.schedule);
  };
  using Lines = std::vector<std::string>;
  CHECK(lines("", {"zb_h1", 2, 2}).empty());
  CHECK(lines("B=2,W=0", {"1f1b", 2, 2}).empty());  // the whole backward takes 2
  CHECK(lines("transfer=0", {"1f1b", 2, 2}).empty());
  CHECK(lines("B=2,W=0", {"zb_h1", 2, 2}) ==
        Lines{"--times: W (backward (weight half)) takes 0 under zb_h1"});
  CHECK(lines("F=0/1/0,B=0", {"1f1b", 3, 2}) ==
        Lines{"--times: F (forward) takes 0 under 1f1b, on stage 0, 2",
              "--times: B (backward) takes 0 under 1f1b"});
}
