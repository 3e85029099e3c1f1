// Whatever fails, at whichever operation: the run ends, with the first error, and says where.
#include <atomic>

#include "backends.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "failing.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// Runs the setup with the n-th operation failing for n = 1, 2, .. until none fires.
int fail_each(TrainingSetup setup, Countdown& countdown) {
  int n = 1;
  for (;; ++n) {
    countdown.set(n);
    try {
      train(setup);
    } catch (const Error& error) {
      INFO("operation " << n << ": " << error.what());
      CHECK(error.code() == ExitCode::Device);
      CHECK(std::string(error.what()).find("stage ") != std::string::npos);
      CHECK(std::string(error.what()).find("instruction ") != std::string::npos);
      CHECK(std::string(error.what()).find("micro-batch ") != std::string::npos);
      CHECK(std::string(error.what()).find("the test's fault") != std::string::npos);
      continue;
    }
    CHECK_FALSE(countdown.fired());
    return n - 1;
  }
}

}  // namespace

TEST_CASE("the n-th kernel call fails", "[faults][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string workers = GENERATE("threads", "inline");
  const auto [schedule, stages] = GENERATE(
      table<std::string, int>({{"gpipe", 3}, {"1f1b", 3}, {"chimera", 2}, {"data_parallel", 2}}));
  Countdown countdown;
  TrainingSetup setup{.model = mlp_model,
                      .config = make_config({.stages = stages,
                                             .microbatches = 2,
                                             .schedule = schedule,
                                             .workers = workers,
                                             .backend = backend}),
                      .steps = 2};
  setup.make_backend = [&](std::string_view name) {
    return failing_backend(make_backend(name), countdown);
  };
  // 2 steps of 2 micro-batches: 6 forwards, 3 weight and 5 input halves each, if no backend does
  // the relus as a part of other layers.
  CHECK(fail_each(setup, countdown) >= 2 * 2 * 11);
}

TEST_CASE("the n-th channel operation fails", "[faults][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string workers = GENERATE("threads", "inline");
  const auto [schedule, stages] = GENERATE(table<std::string, int>({{"1f1b", 3}, {"chimera", 4}}));
  Countdown countdown;
  TrainingSetup setup{.model = mlp_model,
                      .config = make_config({.stages = stages,
                                             .microbatches = 2,
                                             .schedule = schedule,
                                             .workers = workers,
                                             .backend = backend}),
                      .steps = 2};
  setup.make_channel = [&](const ChannelOptions& options) {
    return failing_channel(make_in_process_channel(options), countdown);
  };
  // 2 boundaries, 2 kinds: an acquire, a send and a receive for each of 4 micro-batches.
  CHECK(fail_each(setup, countdown) >= 2 * 2 * 3 * 4);
}

TEST_CASE("a kernel fails while other stages wait for the gradient of what they share",
          "[faults][tied][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string workers = GENERATE("threads", "inline");
  const std::string schedule = GENERATE("1f1b", "pipedream");
  Countdown countdown;
  TrainingSetup setup{.model = tied_model,
                      .config = make_config({.stages = 3,
                                             .microbatches = 2,
                                             .schedule = schedule,
                                             .workers = workers,
                                             .backend = backend}),
                      .steps = 2};
  setup.make_backend = [&](std::string_view name) {
    return failing_backend(make_backend(name), countdown);
  };
  CHECK(fail_each(setup, countdown) >= 2 * 2 * 12);
}

TEST_CASE("the reporter fails: workers stop, its error comes out", "[faults]") {
  const std::string workers = GENERATE("threads", "inline");
  TrainingSetup setup{
      .model = mlp_model, .config = make_config({.stages = 4, .workers = workers}), .steps = 50};
  setup.on_step = [](const StepRecord& record) {
    if (record.step == 2) throw DivergedError("enough");
  };
  CHECK_THROWS_AS(train(setup), DivergedError);
}

TEST_CASE("evaluation fails like training", "[faults]") {
  Countdown countdown;
  TrainingSetup setup{
      .model = mlp_model, .config = make_config({.stages = 3}), .steps = 1, .evaluate = true};
  setup.make_backend = [&](std::string_view name) {
    return failing_backend(make_backend(name), countdown);
  };
  countdown.set(5);
  CHECK_THROWS_AS(train(setup), Error);
}
