// Stages' streams may be as late as they like: whatever order their work is done in, it is the same
// work, and nothing is touched by two streams at once.
#include <set>

#include "base/rng.hpp"
#include "catch.hpp"
#include "runtime/random_model.hpp"
#include "schedules.hpp"
#include "trained_on_fake.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

void check_every_order(const TrainingSetup& setup) {
  const OnFake at_once = train_on_fake({.order = fake_cuda::Order::AtOnce}, setup);
  REQUIRE(at_once.findings == std::vector<std::string>{});
  for (const auto& [order, seed] : {std::pair{fake_cuda::Order::Lazy, 1},
                                    {fake_cuda::Order::OthersFirst, 1},
                                    {fake_cuda::Order::Random, 1},
                                    {fake_cuda::Order::Random, 2}}) {
    const OnFake late =
        train_on_fake({.order = order, .seed = static_cast<std::uint64_t>(seed)}, setup);
    INFO("order " << static_cast<int>(order) << ", seed " << seed);
    CHECK(late.findings == std::vector<std::string>{});
    CHECK(same(late.trained, at_once.trained));
  }
}

TrainingSetup setup_of(const Schedule& schedule, const std::string& workers) {
  TrainingSetup setup{.model = mlp_model,
                      .config = make_config({.stages = 2,
                                             .microbatches = 4,
                                             .schedule = std::string(schedule.name),
                                             .workers = workers,
                                             .backend = "cuda"}),
                      .steps = 6};
  if (schedule.name == "interleaved_1f1b") setup.config.pipeline.virtual_stages = 2;
  return setup;
}

}  // namespace

TEST_CASE("no order of the streams' work changes a bit, under any schedule", "[cuda]") {
  for (const Schedule& schedule : schedules())
    for (const std::string workers : {"inline", "threads"}) {
      INFO(schedule.name << ", " << workers);
      check_every_order(setup_of(schedule, workers));
    }
}

TEST_CASE("no order changes a bit with skip connections, recomputation, clipping, evaluation",
          "[cuda]") {
  const std::string what = GENERATE("plain", "recompute", "clipping", "evaluation");
  TrainingSetup setup{.model = residual_model,
                      .config = make_config(
                          {.stages = 3, .microbatches = 2, .workers = "inline", .backend = "cuda"}),
                      .steps = 3};
  if (what == "recompute") setup.config.pipeline.recompute.rule = Recompute::Stage;
  if (what == "clipping") setup.config.optimizer.max_norm = 0.1;
  setup.evaluate = what == "evaluation";
  INFO(what);
  check_every_order(setup);
}

TEST_CASE("no order changes a bit in random nets, under random schedules, on one device or two",
          "[cuda]") {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Random random(seed, "orders");
    const auto below = [&](int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
    };
    const char* const names[] = {"gpipe",    "1f1b",      "zb_h1",       "pipedream",
                                 "pipemare", "timeprest", "v_timeprest", "i_timeprest"};
    TrainingSetup setup{.model = random_model(seed, {.layers = 3 + below(4)}),
                        .config = make_config({.stages = 1 + below(4),
                                               .microbatches = 1 + below(4),
                                               .schedule = names[below(8)],
                                               .workers = below(2) ? "threads" : "inline",
                                               .backend = "cuda"}),
                        .steps = 3};
    setup.config.data.batch_size = 6 + below(4);
    setup.config.optimizer.kind = below(2) ? OptimizerKind::Sgd : OptimizerKind::Adam;
    if (below(2) && setup.config.pipeline.stages > 1)
      setup.config.hardware.devices = {"cuda:1", "cuda:0"};
    INFO("seed " << seed << ": " << setup.config.pipeline.schedule << ", "
                 << setup.config.pipeline.stages << " stages, "
                 << setup.config.pipeline.microbatches << " micro-batches\n"
                 << setup.model);
    check_every_order(setup);
  }
}

TEST_CASE("two devices give the bits of one, and take the memory that was predicted", "[cuda]") {
  const std::string schedule = GENERATE("1f1b", "pipedream", "zb_h1", "timeprest", "data_parallel");
  TrainingSetup setup = setup_of(require_schedule(schedule), "inline");
  const OnFake one = train_on_fake({.order = fake_cuda::Order::Lazy}, setup);
  setup.config.hardware.devices = {"cuda:0", "cuda:1"};
  INFO(schedule);
  check_every_order(setup);
  const OnFake two = train_on_fake({.order = fake_cuda::Order::Lazy}, setup);
  CHECK(same(two.trained, one.trained));
  for (const OnFake* run : {&one, &two})
    for (std::size_t s = 0; s < run->trained.measured.size(); ++s)
      CHECK(run->trained.measured[s] == run->trained.predicted[s]);
}

TEST_CASE("plans are made and memory is taken before the first steps, never by a later one",
          "[cuda]") {
  const std::string schedule = GENERATE("1f1b", "pipedream", "zb_h1");
  TrainingSetup setup = setup_of(require_schedule(schedule), "inline");
  setup.model = residual_model;
  setup.steps = 24;
  std::vector<std::int64_t> calls;
  std::vector<std::size_t> allocations;
  setup.on_step = [&](const StepRecord&) {
    calls.push_back(fake_cuda::calls());
    allocations.push_back(fake_cuda::live_allocations());
  };
  train_on_fake({.order = fake_cuda::Order::AtOnce, .check_races = false}, setup);
  INFO(schedule);
  REQUIRE(calls.size() == 24);
  for (std::size_t step = 9; step < 20; ++step) {  // the last ones drain
    CAPTURE(step);
    CHECK(allocations[step] == allocations[8]);
    CHECK(calls[step] - calls[step - 1] == calls[8] - calls[7]);
  }
}

TEST_CASE("the host does not wait for devices that keep up", "[cuda]") {
  const std::string schedule = GENERATE("1f1b", "pipedream", "pipemare", "chimera");
  const auto waits = [&](std::int64_t steps) {
    TrainingSetup setup = setup_of(require_schedule(schedule), "inline");
    setup.steps = steps;
    train_on_fake({.order = fake_cuda::Order::AtOnce, .check_races = false}, setup);
    return fake_cuda::host_waits();
  };
  INFO(schedule);
  CHECK(waits(30) == waits(10));
}
