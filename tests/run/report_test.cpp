// From what the stages record about a step to what is reported about it.
#include "run/report.hpp"

#include <cmath>

#include "base/clock.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

StageStep stage_until(std::int64_t end_ns, double busy, double waiting) {
  StageStep stage;
  stage.end_ns = end_ns;
  stage.busy_seconds = busy;
  stage.waiting_seconds = waiting;
  return stage;
}

// Two stages, the later one ending at `end_ns`; 8 samples, three of them right, loss 12 in all.
StepRecord record_until(std::int64_t end_ns, double busy = 0) {
  StepRecord record{.step = 5, .lr = 0.25, .stages = {}, .sums_of_squares = {9, 16}};
  record.stages = {stage_until(end_ns, busy, 1), stage_until(end_ns - kSecond / 4, busy, 0.5)};
  StageStep& last = record.stages.back();
  last.loss.sum = 12;
  last.loss.correct = 3;
  last.samples = 8;
  last.labels = 8;
  return record;
}

StepReporter reporter_of() {
  HeldMemory memory;
  memory.training[Use::Weights] = 64;
  return {{.steps_per_epoch = 4, .steps = 8}, {memory, memory}, 2};
}

}  // namespace

TEST_CASE("a step's figures are means over its mini-batch", "[report]") {
  StepReporter reporter = reporter_of();
  const StepSummary s = reporter.summarize(record_until(now_ns()));
  CHECK(s.step == 6);
  CHECK(s.epoch == 2);
  CHECK(s.samples == 8);
  CHECK(s.loss == 1.5);
  CHECK(s.accuracy == 0.375);
  CHECK(s.lr == 0.25);
  CHECK(s.grad_norm == 5);
  CHECK(s.tokens_per_second == 0);
  REQUIRE(s.stages.size() == 2);
  CHECK(s.stages[1].memory_bytes == 64);
}

TEST_CASE("a step lasts from the end of the one before to its last stage's", "[report]") {
  StepReporter reporter = reporter_of();
  const std::int64_t first = now_ns() + kSecond;
  reporter.summarize(record_until(first));
  const StepSummary s = reporter.summarize(record_until(first + 2 * kSecond, 1.5));
  CHECK(s.seconds == Approx(2));
  CHECK(s.samples_per_second == Approx(4));
  CHECK(s.bubble == Approx(0.25));  // 3 of 4 seconds of two workers
  CHECK(s.stages[0].busy == Approx(0.75));
  CHECK(s.stages[0].waiting == Approx(0.5));
}

TEST_CASE("the time between two segments belongs to no step", "[report]") {
  StepReporter reporter = reporter_of();
  reporter.summarize(record_until(now_ns() - 1000 * kSecond));
  reporter.begin_segment();
  const StepSummary s = reporter.summarize(record_until(now_ns() + kSecond));
  CHECK(s.seconds < 500);
}

TEST_CASE("shares stay between 0 and 1, and no time is too short to divide by", "[report]") {
  StepReporter reporter = reporter_of();
  const StepSummary s = reporter.summarize(record_until(now_ns() - 1000 * kSecond, 3));
  CHECK(s.seconds == 1e-9);
  CHECK(s.bubble == 0);
  CHECK(s.stages[0].busy == 1);
  CHECK(s.stages[0].waiting == 1);
}

TEST_CASE("sequences count their tokens", "[report]") {
  StepReporter reporter = reporter_of();
  StepRecord record = record_until(now_ns() + kSecond);
  record.stages.back().labels = 80;
  const StepSummary s = reporter.summarize(record);
  CHECK(s.loss == 0.15);
  CHECK(s.tokens_per_second == Approx(80 / s.seconds));
}

TEST_CASE("a step is skipped if any stage skipped it, and NaN has no sign", "[report]") {
  StepReporter reporter = reporter_of();
  StepRecord record = record_until(now_ns());
  record.stages[0].skipped = true;
  record.stages.back().loss.sum = -std::nan("");
  const StepSummary s = reporter.summarize(record);
  CHECK(s.skipped);
  CHECK(std::isnan(s.loss));
  CHECK_FALSE(std::signbit(s.loss));
}
