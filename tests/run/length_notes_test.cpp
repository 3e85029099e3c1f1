// What a run says about its length before it starts.
#include "run/length_notes.hpp"

#include "catch.hpp"

using namespace pipetrain;

namespace {

Config cosine() {
  Config config;
  config.lr_schedule.kind = LrKind::Cosine;
  config.optimizer.lr = 0.1;
  return config;
}

TrainingLength of_steps(std::int64_t steps) { return {.steps_per_epoch = 10, .steps = steps}; }

}  // namespace

TEST_CASE("a usual run has nothing to say about its length", "[length]") {
  Config config = cosine();
  config.lr_schedule.warmup_steps = 8;
  config.metrics.trace_steps = StepRange{8, 20};
  CHECK(length_notes(config, of_steps(8), std::nullopt).empty());
  CHECK(length_notes(config, of_steps(8), EarlierLength{4, 8}).empty());
}

TEST_CASE("a warm-up that outlasts the training is noted, with the rate at its end", "[length]") {
  Config config;
  config.optimizer.lr = 0.05;
  config.lr_schedule.warmup_steps = 1000;
  const auto notes = length_notes(config, of_steps(8), std::nullopt);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "lr_schedule.warmup_steps = 1000 is more than the 8 steps of this run: the learning rate "
        "ends at 0.0004 and never reaches 0.05");
}

TEST_CASE("steps to trace behind the end are noted", "[length]") {
  Config config;
  config.metrics.trace_steps = StepRange{500, 600};
  const auto notes = length_notes(config, of_steps(8), std::nullopt);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "metrics.trace_steps = [500, 600]: this run ends after step 8, so nothing is traced");
}

TEST_CASE("a rate that has fallen to its end and rises in a longer run is noted", "[length]") {
  const auto notes = length_notes(cosine(), of_steps(100), EarlierLength{50, 50});
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("lr_schedule.kind = \"cosine\" ends at step 100 now, not at step "
                                "50: the learning rate goes from 0 at step 50 to 0.04"));
  Config constant = cosine();
  constant.lr_schedule.kind = LrKind::Constant;
  CHECK(length_notes(constant, of_steps(100), EarlierLength{50, 50}).empty());
  CHECK(length_notes(cosine(), of_steps(100), EarlierLength{0, 50}).empty());
}
