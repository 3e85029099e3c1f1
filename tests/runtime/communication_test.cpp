// What workers count of their messages is what the program said, to the byte.
#include <atomic>

#include "catch.hpp"
#include "compile/communication_forecast.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "on_send.hpp"
#include "run/fine_tuning.hpp"
#include "schedules.hpp"
#include "sentences.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

using List = std::vector<int>;

struct Case {
  std::string model = residual_model;
  Config config;
  std::int64_t samples = 64;
  int steps = 6;
  const Dataset* data = nullptr;  // null: synthetic
};

// What the config's program predicts.
Communication forecast(const Case& c) {
  Graph graph = read_model_text(c.model, "test");
  choose_trained(c.config, graph);
  const auto synthetic = draw_synthetic({.samples = c.samples, .seed = 3, .part = "train"}, graph);
  const Dataset* const data = c.data ? c.data : synthetic.get();
  const Plan plan = make_plan(graph, c.config, {});
  const auto backend = make_backend(c.config.hardware.backend);
  PipelineInput input{graph, plan, c.config, *backend, c.steps};
  const auto order = data->order(training_order(c.config));
  input.sizes.train = order->sizes();
  const CompiledPipeline compiled = compile_pipeline(input);
  return CommunicationForecast(compiled).segment(c.steps, [&](std::int64_t k) {
    const Minibatch minibatch = order->of(k);
    return MinibatchSize{std::ssize(minibatch.samples), minibatch.lengths};
  });
}

struct Counted {
  Communication all;
  std::vector<Communication> steps;
  std::int64_t sent = 0;  // bytes of all packets, between stages of one worker too
};

Counted count(const Case& c) {
  Counted counted;
  std::atomic<std::int64_t> sent = 0;
  train({.model = c.model,
         .config = c.config,
         .steps = c.steps,
         .samples = c.samples,
         .data = c.data,
         .make_channel =
             [&](const ChannelOptions& options) {
               return std::make_unique<OnSend>(
                   make_in_process_channel(options),
                   [&](const Packet& p) { sent += static_cast<std::int64_t>(p.bytes); });
             },
         .on_step =
             [&](const StepRecord& record) {
               Communication& step = counted.steps.emplace_back();
               for (const StageStep& stage : record.stages)
                 step.stages.push_back(stage.communication);
               counted.all.add(step);
             }});
  counted.sent = sent;
  return counted;
}

std::int64_t messages_bytes(const Communication& c) {
  return c.of(&StageVolumes::activations).bytes + c.of(&StageVolumes::gradients).bytes;
}

void check_equal(const Case& c) {
  const Communication said = forecast(c);
  const Counted counted = count(c);
  REQUIRE(counted.all.stages.size() == said.stages.size());
  for (std::size_t s = 0; s < said.stages.size(); ++s) {
    INFO("stage " << s);
    const StageVolumes &a = counted.all.stages[s], &b = said.stages[s];
    CHECK(a.activations == b.activations);
    CHECK(a.gradients == b.gradients);
    CHECK(a.all_reduce == b.all_reduce);
    CHECK(a.tied == b.tied);
    CHECK(a.link_seconds == Approx(b.link_seconds));
  }
  CHECK(said.total().messages > 0);
  const bool hands_over = c.config.pipeline.schedule == "zb_v";  // to another stage of a worker
  if (hands_over)
    CHECK(counted.sent > messages_bytes(counted.all));
  else
    CHECK(counted.sent == messages_bytes(counted.all));
}

Config of(const std::string& schedule, const std::string& workers = "threads", int stages = 2) {
  Config config =
      make_config({.stages = stages, .microbatches = 4, .schedule = schedule, .workers = workers});
  if (schedule == "interleaved_1f1b") config.pipeline.virtual_stages = 2;
  return config;
}

std::vector<std::string> all_schedules() {
  std::vector<std::string> names;
  for (const Schedule& schedule : schedules()) names.emplace_back(schedule.name);
  return names;
}

}  // namespace

TEST_CASE("under every schedule as many bytes are counted as predicted", "[communication]") {
  for (const std::string& schedule : all_schedules())
    for (const std::string workers : {"threads", "inline"}) {
      INFO(schedule << ", " << workers);
      check_equal({.config = of(schedule, workers)});
    }
}

TEST_CASE("ragged and empty micro-batches count what they carry", "[communication]") {
  for (const std::string& schedule : all_schedules()) {
    INFO(schedule);
    Config config = of(schedule);
    config.data.batch_size = 14;  // micro-batches of 4, 4, 3, 3
    config.data.drop_last = false;
    check_equal({.config = config, .samples = 31});  // the last mini-batch: 1, 1, 1, 0
    config.hardware.backend = "cpu";                 // whose layouts have padding of their own
    check_equal({.config = config, .samples = 31});
  }
}

TEST_CASE("mini-batches of many lengths count what they carry", "[communication]") {
  const Sentences sentences(31, 4);
  for (const std::string schedule : {"1f1b", "timeprest", "pipemare"}) {
    INFO(schedule);
    Config config = of(schedule, "threads", 3);
    config.data.batch_size = 5;
    config.pipeline.microbatches = 2;
    check_equal({.model = two_sided, .config = config, .steps = 20, .data = &sentences});
  }
}

TEST_CASE("a pipeline that goes round its loop counts every round", "[communication]") {
  for (const std::string& schedule : never_drained) {
    INFO(schedule);
    check_equal({.config = of(schedule, "threads", 3), .steps = 30});
    Config config = of(schedule, "inline", 3);
    config.pipeline.recompute.rule = Recompute::Stage;
    check_equal({.config = config, .steps = 30});
  }
}

TEST_CASE("segments of stages count what they send again", "[communication]") {
  for (const std::string schedule : {"pipedream", "pipemare", "pipelined_backpropagation"})
    for (const std::string workers : {"threads", "inline"}) {
      INFO(schedule << ", " << workers);
      Config config = of(schedule, workers, 3);
      config.pipeline.warmup = Warmup::Full;
      config.pipeline.recompute.rule = Recompute::Segments;
      for (const int length : {1, 2, 3}) {
        config.pipeline.segment_stages = length;
        check_equal({.config = config, .steps = 30});
      }
    }
}

TEST_CASE("replicas count their messages and sums", "[communication][replicas]") {
  for (const std::string schedule : {"gpipe", "1f1b", "zb_h1", "pipedream"})
    for (const List& replicas : {List{2, 1}, List{3, 1}, List{2, 2}, List{2, 3}})
      for (const std::string workers : {"threads", "inline"}) {
        INFO(schedule << " " << replicas[0] << "-" << replicas[1] << ", " << workers);
        Config config = of(schedule, workers);
        config.pipeline.replicas = replicas;
        check_equal({.config = config, .steps = 5});  // ends in the middle of pipedream's rounds
      }
}

TEST_CASE("tied parameters count their sums", "[communication][tied]") {
  for (const std::string schedule : {"1f1b", "zb_v", "pipedream_2bw", "chimera"}) {
    INFO(schedule);
    check_equal({.model = tied_model, .config = of(schedule)});
  }
  Config config = of("1f1b");
  config.pipeline.replicas = {2, 2};
  check_equal({.model = tied_model, .config = config});
}

TEST_CASE("layers that are not trained send no gradients and are not summed", "[communication]") {
  for (const std::string schedule : {"1f1b", "zb_h1", "pipedream"})
    for (const List& replicas : {List{1, 1}, List{2, 1}, List{2, 2}}) {
      INFO(schedule << " " << replicas[0] << "-" << replicas[1]);
      Config config = of(schedule);
      config.pipeline.replicas = replicas;
      config.model.trainable = {{"fc.*"}};
      check_equal({.config = config, .steps = 5});
      CHECK(count({.config = config, .steps = 5}).all.stages[0].gradients.bytes == 0);
      config.model.trainable = {{"conv2.*", "fc.bias"}};
      check_equal({.config = config, .steps = 5});
    }
  Config tied = of("1f1b");
  tied.model.trainable = {{"b.*"}};
  const Communication none = count({.model = tied_model, .config = tied}).all;
  CHECK(none.of(&StageVolumes::tied) == Volume{});
}

TEST_CASE("the counts are those of a calculation by hand", "[communication]") {
  // fc1 relu1 fc2 | relu2 drop fc3: 16 floats of each sample cross, both ways.
  Case mlp{.model = mlp_model, .config = of("1f1b"), .steps = 3};
  const Communication crossed = count(mlp).all;
  CHECK(crossed.stages[1].activations == Volume{3 * 4 * (4 * 16 * 4), 3 * 4});
  CHECK(crossed.stages[0].gradients == Volume{3 * 4 * (4 * 16 * 4), 3 * 4});
  CHECK(crossed.total() == Volume{2 * 3 * 4 * 256, 2 * 3 * 4});
  // (12 + 1) 16 + (16 + 1) 16 floats in stage 0, (16 + 1) 5 in stage 1.
  mlp.config.pipeline.replicas = {3, 1};
  const Communication summed = count(mlp).all;
  CHECK(summed.stages[0].all_reduce == Volume{3 * 2 * 2 * (480 * 4), 3 * 2 * 2 * 3});
  CHECK(summed.stages[1].all_reduce == Volume{});
  // in a | relu b | c out: three workers have the 16 x 16 weight.
  const Communication tied =
      count({.model = tied_model, .config = of("1f1b", "threads", 3), .steps = 3}).all;
  CHECK(tied.stages[0].tied == Volume{3 * 2 * 2 * 1024, 3 * 2 * 2 * 3});
  CHECK(tied.of(&StageVolumes::tied) == tied.stages[0].tied);
}

TEST_CASE("each step's messages are its own", "[communication]") {
  for (const std::string& schedule : all_schedules()) {
    INFO(schedule);
    const Counted counted = count({.config = of(schedule)});
    for (const Communication& step : counted.steps) CHECK(step == counted.steps.front());
  }
}
