// Schedules that never drain, on the real engine: what must not change a bit, and what is reported.
#include "backends.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Config config_of(const std::string& schedule, const std::string& backend = "cpu") {
  Config config =
      make_config({.stages = 3, .microbatches = 4, .schedule = schedule, .backend = backend});
  config.pipeline.pipemare.anneal_steps = 6;
  return config;
}

// Of all stages.
std::size_t activations_of(const Trained& trained) {
  std::size_t bytes = 0;
  for (const HeldMemory& held : trained.measured) bytes += held.training[Use::Activations];
  return bytes;
}

}  // namespace

TEST_CASE("threads and inline give the same bits under every schedule", "[asynchronous]") {
  const std::string schedule = GENERATE(from_range(never_drained));
  const std::string rule = GENERATE("saved", "recompute");
  Config config = config_of(schedule);
  config.pipeline.gradient_rule = word_named<GradientRule>(rule).value();
  const Trained threads = train({.model = residual_model, .config = config, .steps = 30});
  config.hardware.workers = Workers::Inline;
  const Trained in_turn = train({.model = residual_model, .config = config, .steps = 30});
  INFO(schedule << " " << rule);
  CHECK(threads.losses == in_turn.losses);
  CHECK(same_bits(threads.parameters, in_turn.parameters));
  for (std::size_t s = 0; s < threads.predicted.size(); ++s)
    CHECK(threads.predicted[s] == threads.measured[s]);
}

TEST_CASE(
    "the work-conserving order has one sequence of bits on threads and inline, not that of slots",
    "[asynchronous]") {
  const std::string schedule = GENERATE("timeprest", "v_timeprest", "i_timeprest");
  const int in_flight = GENERATE(0, 2);
  Config config = config_of(schedule);
  const Trained slots = train({.model = residual_model, .config = config, .steps = 30});
  config.pipeline.timeprest = {.times = TimePrestTimes::Busy, .in_flight = in_flight};
  const Trained threads = train({.model = residual_model, .config = config, .steps = 30});
  config.hardware.workers = Workers::Inline;
  const Trained in_turn = train({.model = residual_model, .config = config, .steps = 30});
  INFO(schedule << " " << in_flight);
  CHECK(threads.losses == in_turn.losses);
  CHECK(same_bits(threads.parameters, in_turn.parameters));
  if (in_flight == 0) CHECK_FALSE(same_bits(threads.parameters, slots.parameters));
  for (std::size_t s = 0; s < threads.predicted.size(); ++s)
    CHECK(threads.predicted[s] == threads.measured[s]);
}

TEST_CASE("the backends agree on every schedule", "[asynchronous]") {
  const std::string schedule = GENERATE(from_range(never_drained));
  const Trained cpu = train({.model = mlp_model, .config = config_of(schedule), .steps = 20}),
                plain = train(
                    {.model = mlp_model, .config = config_of(schedule, "reference"), .steps = 20});
  INFO(schedule);
  for (std::size_t k = 0; k < cpu.losses.size(); ++k)
    CHECK(cpu.losses[k] == Approx(plain.losses[k]).epsilon(1e-4));
}

TEST_CASE("a recomputed forward has the bits of the kept one if its weights are still kept",
          "[asynchronous]") {
  const std::string schedule =
      GENERATE("gpipe", "1f1b", "zb_h1", "zb_h2", "zb_v", "interleaved_1f1b", "pipedream",
               "pipedream_2bw", "i_timeprest");
  Config config =
      make_config({.stages = 2, .microbatches = 4, .schedule = schedule, .backend = "cpu"});
  if (schedule == "interleaved_1f1b") config.pipeline.virtual_stages = 2;
  const Trained kept = train({.model = residual_model, .config = config, .steps = 12});
  config.pipeline.recompute.rule = Recompute::Stage;
  const Trained again = train({.model = residual_model, .config = config, .steps = 12});
  INFO(schedule);
  CHECK(kept.losses == again.losses);
  CHECK(same_bits(kept.parameters, again.parameters));
  CHECK(again.predicted == again.measured);
  const std::size_t activations = activations_of(kept), fewer = activations_of(again);
  if (schedule == "gpipe") CHECK(fewer < activations);  // many in flight
}

TEST_CASE("kinds of layers that run again change no bit, and hold less", "[asynchronous]") {
  const std::string schedule =
      GENERATE("gpipe", "1f1b", "interleaved_1f1b", "pipedream", "pipedream_2bw", "pipemare",
               "i_timeprest", "data_parallel", "1f1b with replicas");
  const std::string backend = GENERATE(from_range(testing::backend_names()));
  const bool replicas = schedule == "1f1b with replicas";
  Config config = make_config({.stages = 2,
                               .microbatches = 4,
                               .schedule = replicas ? "1f1b" : schedule,
                               .backend = backend});
  if (schedule == "interleaved_1f1b") config.pipeline.virtual_stages = 2;
  if (replicas) config.pipeline.replicas = {2, 2};
  const Trained kept = train({.model = residual_model, .config = config, .steps = 12});
  std::vector<std::string> kinds = {"relu", "dropout", "max_pool"};
  if (schedule != "pipemare" && schedule != "i_timeprest")
    kinds.insert(kinds.end(), {"batch_norm", "conv2d"});
  config.pipeline.recompute = {.rule = Recompute::Kinds, .kinds = kinds};
  const Trained again = train({.model = residual_model, .config = config, .steps = 12});
  INFO(schedule << " " << backend);
  CHECK(kept.losses == again.losses);
  CHECK(same_bits(kept.parameters, again.parameters));
  CHECK(again.predicted == again.measured);
  const std::size_t activations = activations_of(kept), fewer = activations_of(again);
  CHECK(fewer <= activations);
  if (schedule == "gpipe") CHECK(fewer < activations);
}

TEST_CASE("kinds with parameters run again only with the weights of their forward",
          "[asynchronous]") {
  const std::string schedule =
      GENERATE("pipemare", "pipelined_backpropagation", "timeprest", "v_timeprest", "i_timeprest");
  Config config = make_config({.stages = 2, .microbatches = 4, .schedule = schedule});
  config.pipeline.recompute = {.rule = Recompute::Kinds, .kinds = {"relu", "conv2d"}};
  INFO(schedule);
  CHECK_THROWS_AS(train({.model = residual_model, .config = config, .steps = 2}), UsageError);
  config.pipeline.gradient_rule = GradientRule::Recompute;
  const Trained again = train({.model = residual_model, .config = config, .steps = 2});
  config.pipeline.recompute = {};
  CHECK(same_bits(train({.model = residual_model, .config = config, .steps = 2}).parameters,
                  again.parameters));
}

TEST_CASE("segments hold what is predicted, and pass on what they recompute", "[asynchronous]") {
  const std::string schedule = GENERATE("pipedream", "pipemare", "pipelined_backpropagation");
  const std::string workers = GENERATE("threads", "inline");
  Config config = make_config({.stages = 4, .microbatches = 2, .schedule = schedule});
  config.pipeline.warmup = Warmup::Full;
  config.hardware.workers = word_named<Workers>(workers).value();
  const Trained kept = train({.model = residual_model, .config = config, .steps = 12});
  config.pipeline.recompute.rule = Recompute::Segments;
  const Trained again = train({.model = residual_model, .config = config, .steps = 12});
  INFO(schedule << " " << workers);
  if (schedule == "pipedream") {
    CHECK(kept.losses == again.losses);
    CHECK(same_bits(kept.parameters, again.parameters));
  }
  CHECK(again.predicted == again.measured);
}

TEST_CASE("staleness is the number of updates between forward and backward", "[asynchronous]") {
  for (const auto& [schedule, expected] :
       {std::pair{"1f1b", 0.0}, {"pipedream", 1.0}, {"pipemare", 1.0}}) {
    Config config = make_config({.stages = 2, .microbatches = 1, .schedule = schedule});
    std::vector<double> staleness;
    train({.model = mlp_model, .config = config, .steps = 20, .on_step = [&](const StepRecord& r) {
             staleness.push_back(r.stages[0].staleness);
             CHECK(r.stages[1].staleness == 0);
           }});
    INFO(schedule);
    CHECK(staleness[10] == expected);
  }
}

TEST_CASE("every stage clips by its own norm if nothing drains", "[asynchronous]") {
  Config config = config_of("pipedream");
  const Trained free = train({.model = mlp_model, .config = config, .steps = 20});
  config.optimizer.max_norm = 0.05;
  const Trained clipped = train({.model = mlp_model, .config = config, .steps = 20});
  config.hardware.workers = Workers::Inline;
  const Trained in_turn = train({.model = mlp_model, .config = config, .steps = 20});
  CHECK_FALSE(same_bits(free.parameters, clipped.parameters));
  CHECK(same_bits(clipped.parameters, in_turn.parameters));
}
