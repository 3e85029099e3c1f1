// Trainings over links of a given rate: the same bits, and no end of a run that waits for a link.
#include <atomic>

#include "base/error.hpp"
#include "catch.hpp"
#include "compile/compiled_pipeline.hpp"
#include "data/formats.hpp"
#include "failing.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "on_send.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr double hour_us = 3600e6;

Config over_link(Config config, double gbits, double microseconds) {
  config.hardware.link = {gbits, microseconds};
  return config;
}

Config small(const std::string& schedule, const std::string& workers = "threads") {
  Config config = make_config({.stages = 2, .schedule = schedule, .workers = workers});
  if (schedule == "interleaved_1f1b") config.pipeline.virtual_stages = 2;
  return config;
}

double link_seconds(const Config& config, const std::string& model = mlp_model) {
  double sum = 0;
  train({.model = model, .config = config, .steps = 3, .on_step = [&](const StepRecord& record) {
           for (const StageStep& stage : record.stages) sum += stage.communication.link_seconds;
         }});
  return sum;
}

}  // namespace

TEST_CASE("a link changes no bit", "[link]") {
  for (const std::string schedule : {"gpipe", "1f1b", "interleaved_1f1b", "zb_v", "pipedream",
                                     "pipemare", "timeprest", "chimera", "data_parallel"}) {
    INFO(schedule);
    const Config config = small(schedule);
    const auto run = [&](const Config& c) { return train({.model = mlp_model, .config = c}); };
    const Trained plain = run(config), linked = run(over_link(config, 0.05, 20));
    CHECK(linked.losses == plain.losses);
    CHECK(same_bits(linked.parameters, plain.parameters));
  }
  Config replicated = small("pipedream");
  replicated.pipeline.replicas = {2, 1};
  CHECK(
      same_bits(train({.model = mlp_model, .config = replicated}).parameters,
                train({.model = mlp_model, .config = over_link(replicated, 0.05, 20)}).parameters));
}

TEST_CASE("inline counts a link's time and does not wait", "[link]") {
  // 4 messages of 256 bytes each way, in each of 3 steps.
  CHECK(link_seconds(over_link(small("1f1b", "inline"), 0, hour_us)) == Approx(24 * 3600));
  CHECK(link_seconds(over_link(small("1f1b", "inline"), 1e-9, 0)) == Approx(24 * 256 * 8));
  CHECK(link_seconds(small("1f1b", "inline")) == 0);
  // The whole model's (13 16 + 17 16 + 17 5) floats, in each half of a ring over two.
  CHECK(link_seconds(over_link(small("data_parallel", "inline"), 1e-9, 0)) ==
        Approx(3 * 2 * 565 * 4 * 8 / 2.0));
}

TEST_CASE("on threads messages and sums take their time", "[link]") {
  for (const std::string schedule : {"1f1b", "data_parallel"}) {
    double seconds = 0;
    const Config config = over_link(small(schedule), 0, 2000);
    std::int64_t end = 0;
    train({.model = mlp_model,
           .config = config,
           .steps = 2,
           .on_step = [&](const StepRecord& record) {
             std::int64_t last = 0;
             for (const StageStep& stage : record.stages) last = std::max(last, stage.end_ns);
             if (end > 0) seconds = static_cast<double>(last - end) * 1e-9;
             end = last;
           }});
    INFO(schedule << " " << seconds);
    CHECK(seconds > 0.0039);  // there and back, or both messages of a ring over two
  }
}

TEST_CASE("a failure does not wait for a link", "[link][faults]") {
  Countdown countdown;
  CHECK_THROWS_AS(train({.model = mlp_model,
                         .config = over_link(small("gpipe"), 0, hour_us),
                         .on_built = [&] { countdown.set(10); },  // out of stage 0's 12 calls
                         .make_backend =
                             [&](std::string_view name) {
                               return failing_backend(pipetrain::make_backend(name), countdown);
                             }}),
                  Error);
  CHECK(countdown.fired());
}

TEST_CASE("a drain does not wait for a link", "[link]") {
  for (const std::string schedule : {"1f1b", "pipedream"}) {
    INFO(schedule);
    const Config config = over_link(small(schedule), 0, hour_us);
    const Graph graph = read_model_text(tied_model, "test");
    const auto data = draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph);
    const Plan plan = make_plan(graph, config, {});
    const auto backend = make_backend(config.hardware.backend);
    PipelineInput input{graph, plan, config, *backend, 1000};
    input.sizes.train = data->order(training_order(config))->sizes();
    std::atomic<bool> drain = false;
    Pipeline pipeline(compile_pipeline(input), [&](const ChannelOptions& options) {
      return std::make_unique<OnSend>(make_in_process_channel(options),
                                      [&](const Packet&) { drain = true; });
    });
    pipeline.set_parameters(first_parameters(config, graph));
    Loader loader(*data,
                  {.order = training_order(config),
                   .depth = pipeline.loader_depth(Mode::Train),
                   .reader_threads = pipeline.reader_threads(Mode::Train)},
                  pipeline.loader_readers(Mode::Train));
    const std::int64_t trained = pipeline.train(
        loader, 0, 1000, [](const StepRecord&) {}, &drain);
    CHECK(trained > 0);
    CHECK(trained < 1000);
  }
}
