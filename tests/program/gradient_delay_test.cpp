// How late gradients come under each schedule.
#include "program/gradient_delay.hpp"

#include "catch.hpp"
#include "compile/segment_program.hpp"
#include "program/fold.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

using Delays = std::vector<double>;

Delays delays_of(const std::string& schedule, int stages, int microbatches, bool vertical = false) {
  ScheduleRequest request{.schedule = schedule, .stages = stages, .microbatches = microbatches};
  request.vertical_sync = vertical;
  request.minibatches = steady_minibatches(require_schedule(schedule), request);
  const auto delays = gradient_delays(make_program(request));
  return {delays.begin(), delays.end()};
}

}  // namespace

TEST_CASE("a gradient is as late as its schedule makes it", "[delay]") {
  CHECK(delays_of("gpipe", 4, 4) == Delays{0, 0, 0, 0});
  CHECK(delays_of("zb_h1", 4, 4) == Delays{0, 0, 0, 0});
  CHECK(delays_of("pipedream", 4, 1) == Delays{3, 2, 1, 0});
  CHECK(delays_of("pipedream", 4, 1, true) == Delays{3, 3, 3, 3});
  CHECK(delays_of("pipedream_2bw", 4, 4) == Delays{1, 1, 1, 1});
  CHECK(delays_of("pipemare", 3, 1) == Delays{2, 1, 0});
}

TEST_CASE("with several micro-batches the delay is their mean", "[delay]") {
  const Delays delays = delays_of("pipedream", 3, 4);
  CHECK(delays[0] == Approx(0.5));
  CHECK(delays[1] == Approx(0.25));
  CHECK(delays[2] == 0);
}

TEST_CASE("a folded program has the delays of the whole one", "[delay]") {
  const ScheduleRequest request{
      .schedule = "pipedream", .stages = 4, .microbatches = 1, .minibatches = 200};
  Config config;
  config.pipeline.schedule = "pipedream";
  config.pipeline.stages = 4;
  const SegmentProgram segment = training_program(config, 4, 200);
  REQUIRE_FALSE(segment.loops.empty());
  CHECK(gradient_delays(segment.program) == gradient_delays(make_program(request)));
}
