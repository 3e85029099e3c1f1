// Reports of mini-batches whose device is behind: in order, once the device has reached them, never
// too many.
#include "runtime/step_reports.hpp"

#include "backend/late_stream.hpp"
#include "base/check.hpp"
#include "catch.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct LateReports {
  struct Published {
    std::int64_t step;
    StageStep measured;
  };
  // Three mini-batches are open at once.
  LateReports()
      : reports(stream, 2, 3, [this](const StepReport& r) {
          published.push_back({r.step, r.measured});
        }) {}
  // The device puts a loss of `step` and sums into the report when it gets there.
  void train(std::int64_t step) {
    StepReport& report = reports.of(step);
    clock.time([&] {
      stream.later([&report, step] {
        report.loss->sum += static_cast<double>(step);
        report.sums_of_squares[1] = static_cast<double>(10 * step);
      });
    });
    reports.hand_in(report, clock);
  }

  Log log;
  LateStream stream{"s", log};
  StreamClock clock{stream};
  std::vector<Published> published;
  StepReports reports;
};

}  // namespace

TEST_CASE("a report is published once its device has reached it, with what the device left in it",
          "[reports]") {
  LateReports rig;
  rig.train(1);
  CHECK(rig.published.empty());
  rig.stream.go_on();
  rig.train(2);
  REQUIRE(rig.published.size() == 1);
  CHECK(rig.published[0].step == 1);
  CHECK(rig.published[0].measured.loss.sum == 1);
  rig.reports.finish(rig.clock);
  REQUIRE(rig.published.size() == 2);
  CHECK(rig.published[1].measured.loss.sum == 2);
}

TEST_CASE("the worker is ahead of its device by `ahead` mini-batches at most", "[reports]") {
  LateReports rig;
  for (int step = 1; step <= StepReports::ahead; ++step) rig.train(step);
  CHECK(rig.published.empty());
  rig.train(StepReports::ahead + 1);  // waits for the device
  CHECK_FALSE(rig.published.empty());
  CHECK(rig.published.front().step == 1);
}

TEST_CASE("reports come in their order and each once, and sums begin again", "[reports]") {
  LateReports rig;
  for (int step = 5; step < 105; ++step) {
    rig.train(step);
    if (step % 7 == 0) rig.stream.go_on();
  }
  rig.reports.finish(rig.clock);
  REQUIRE(rig.published.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(rig.published[i].step == static_cast<std::int64_t>(i) + 5);
    CHECK(rig.published[i].measured.loss.sum == static_cast<double>(i) + 5);
  }
}

TEST_CASE("a device's busy time is that between its fences, and the rest is waiting", "[reports]") {
  LateReports rig;
  rig.train(1);
  rig.reports.finish(rig.clock);
  const StageStep& measured = rig.published.at(0).measured;
  CHECK(measured.busy_seconds == 1);  // the late stream's clock: one a record
  CHECK(measured.waiting_seconds > 0);
}

TEST_CASE("a mini-batch that was reported is not written to again", "[reports]") {
  LateReports rig;
  rig.train(1);
  CHECK_THROWS_AS(rig.reports.of(1), InternalError);
}
