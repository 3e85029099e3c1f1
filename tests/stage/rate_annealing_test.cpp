// PipeMare's learning-rate rescheduling (T1): what a rate is multiplied by, and for how long.
#include "stage/rate_annealing.hpp"

#include <cmath>

#include "catch.hpp"

using namespace pipetrain;

namespace {

Config pipemare(int stages, int microbatches) {
  Config config;
  config.pipeline.schedule = "pipemare";
  config.pipeline.stages = stages;
  config.pipeline.microbatches = microbatches;
  return config;
}

}  // namespace

TEST_CASE("a rate begins divided by the delay, and is whole after anneal_steps updates",
          "[annealing]") {
  const RateAnnealing annealing{.anneal_steps = 4, .first_step = 10, .delays = {4, 2, 1, 0.5, 0}};
  const auto of = [&](std::int64_t step, int stage) { return annealing.factor(step, {stage}); };
  CHECK(of(9, 0) == 1);  // in the synchronous warm-up
  CHECK(of(10, 0) == Approx(0.25));
  CHECK(of(10, 1) == Approx(0.5));
  CHECK(of(12, 0) == Approx(0.5));
  CHECK(of(13, 1) == Approx(std::pow(2, -0.25)));
  CHECK(of(14, 0) == 1);
  CHECK(of(1000, 0) == 1);
  // Never raised if the delay is below 1.
  for (const int stage : {2, 3, 4}) CHECK(of(10, stage) == 1);
}

TEST_CASE("anneal_steps not given: a quarter of what follows the warm-up, rounded up",
          "[annealing]") {
  Config config = pipemare(4, 1);
  CHECK(anneal_steps(config, 1, 3) == 1);
  CHECK(anneal_steps(config, 8, 3) == 2);
  CHECK(anneal_steps(config, 9, 3) == 3);
  config.pipeline.pipemare.sync_warmup_epochs = 2;
  CHECK(anneal_steps(config, 15, 3) == 3);
  CHECK(anneal_steps(config, 6, 3) == std::nullopt);
  CHECK(anneal_steps(config, 5, 3) == std::nullopt);
  config.pipeline.pipemare.anneal_steps = 0;
  CHECK(anneal_steps(config, 15, 3) == 0);
  config.pipeline.pipemare.anneal_steps = 7;
  CHECK(anneal_steps(config, 15, 3) == 7);
}

TEST_CASE("the annealing of a config: by default on, by 0 and other schedules off", "[annealing]") {
  Config config = pipemare(4, 2);
  config.pipeline.pipemare.sync_warmup_epochs = 1;
  const RateAnnealing annealing = rate_annealing(config, 23, 3);
  CHECK(annealing.anneal_steps == 5);
  CHECK(annealing.first_step == 3);
  CHECK(annealing.delays == std::vector<double>{1.5, 1, 0.5, 0});
  CHECK(annealing.factor(3, {0}) == Approx(1 / 1.5));
  config.pipeline.pipemare.anneal_steps = 0;
  CHECK(rate_annealing(config, 23, 3).factor(3, {0}) == 1);
  config = pipemare(4, 2);
  config.pipeline.schedule = "pipedream";
  CHECK(rate_annealing(config, 23, 3).factor(0, {0}) == 1);
}
