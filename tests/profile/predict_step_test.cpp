// A step predicted from times that are known: sums and closed forms.
#include "profile/predict_step.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "machine/threads.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// Six layers of mlp_model: each takes 1 ms forward, 1 for either half of its backward; nothing else
// takes time.
Profile even_profile(int layers) {
  Profile profile;
  profile.layers.resize(static_cast<std::size_t>(layers));
  profile.points = {{.samples = 4, .threads = 1}};
  profile.points[0].layers.assign(
      static_cast<std::size_t>(layers),
      {.forward_ms = 1, .backward_input_ms = 1, .first_weight_ms = 1, .backward_weight_ms = 1});
  return profile;
}

struct Predicted {
  explicit Predicted(const ConfigChoice& choice)
      : config(make_config(choice)),
        graph(read_model_text(mlp_model, "test")),
        data(draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph)) {
    config.pipeline.split = {SplitRule::Uniform, {}};
    config.hardware.threads_per_stage = 1;
    profile = even_profile(static_cast<int>(graph.layers.size()));
  }
  PredictedStep step() const {
    const Plan plan = make_plan(graph, config, {});
    const auto backend = make_backend("reference");
    PipelineInput input{graph, plan, config, *backend, 1000};
    input.sizes.train = data->order(training_order(config))->sizes();
    return predict_step(compile_pipeline(input), profile);
  }
  Config config;
  const Graph graph;
  const std::unique_ptr<const Dataset> data;
  Profile profile;
};

}  // namespace

TEST_CASE("one thread takes the sum of all work", "[predict]") {
  for (const int stages : {1, 2, 3}) {
    const PredictedStep step =
        Predicted({.stages = stages, .microbatches = 4, .workers = "inline"}).step();
    CHECK(step.step_ms == Approx(4 * 6 * 3));
    CHECK(step.bubble == Approx(1 - 1.0 / stages));
  }
}

TEST_CASE("a step pays for the cuts that it has", "[predict]") {
  for (const int stages : {1, 2, 3}) {
    Predicted predicted({.stages = stages, .microbatches = 4, .workers = "inline"});
    for (LayerTimes& layer : predicted.profile.points[0].layers) {
      layer.cut_forward_ms = 0.25;
      layer.cut_backward_ms = 0.5;
    }
    CHECK(predicted.step().step_ms == Approx(4 * (6 * 3 + (stages - 1) * 0.75)));
  }
}

TEST_CASE("a stage with all micro-batches in flight takes the times of points with all in flight",
          "[predict]") {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    Predicted predicted(
        {.stages = 1, .microbatches = 4, .schedule = schedule, .workers = "inline"});
    ProfilePoint one_at_a_time = predicted.profile.points[0];
    one_at_a_time.versions = 2;
    for (LayerTimes& layer : one_at_a_time.layers) layer.forward_ms = 2;
    predicted.profile.points.push_back(one_at_a_time);
    CHECK(predicted.step().step_ms == Approx(4 * 6 * (schedule == "gpipe" ? 3 : 4)));
  }
}

TEST_CASE("halves of a backward that run apart take longer, a whole one does not", "[predict]") {
  for (const auto& [schedule, longer] : {std::pair{"zb_h1", 0.25}, std::pair{"1f1b", 0.0}}) {
    Predicted predicted(
        {.stages = 2, .microbatches = 4, .schedule = schedule, .workers = "inline"});
    for (LayerTimes& layer : predicted.profile.points[0].layers) layer.split_backward_ms = 0.25;
    CHECK(predicted.step().step_ms == Approx(4 * 6 * (3 + longer)));
  }
}

TEST_CASE("one weight gradient of a mini-batch is written, the others are added", "[predict]") {
  for (const int microbatches : {1, 4}) {
    Predicted predicted({.stages = 2, .microbatches = microbatches, .workers = "inline"});
    for (LayerTimes& layer : predicted.profile.points[0].layers) layer.first_weight_ms = 0.5;
    const double longer = 4.0 / microbatches;  // a micro-batch of 16 samples than one of 4
    CHECK(predicted.step().step_ms == Approx(4 * 6 * 3 - longer * 6 * 0.5));
  }
}

// N micro-batches over P even stages: (N + P - 1) times a stage's forward and backward.
TEST_CASE("a flushing schedule's step is its closed form", "[predict]") {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    const PredictedStep step =
        Predicted({.stages = 2, .microbatches = 4, .schedule = schedule}).step();
    const double stage = 3 * 3;
    // The weight gradient of a stage's first layer follows its send: nothing need wait for it.
    CHECK(step.step_ms <= Approx((4 + 2 - 1) * stage));
    CHECK(step.step_ms >= Approx((4 + 2 - 1) * stage - 3));
    CHECK(step.busy[0] == Approx(4 * stage / step.step_ms));
  }
}

TEST_CASE("a pipeline that never drains takes its slowest stage's time", "[predict]") {
  const PredictedStep step =
      Predicted({.stages = 2, .microbatches = 4, .schedule = "pipedream"}).step();
  CHECK(step.step_ms == Approx(4 * 3 * 3));
  CHECK(step.bubble == Approx(0).margin(1e-9));
}

TEST_CASE("updates, loading, the loss and handing over are charged once each", "[predict]") {
  Predicted predicted({.stages = 2, .microbatches = 4, .workers = "inline"});
  ProfilePoint& point = predicted.profile.points[0];
  point.load_ms = 0.5;
  point.loss_ms = 0.25;
  point.loss_gradient_ms = 0.125;
  point.rest_ms = 7;
  point.layers[0].fused_update_ms = 3;
  point.layers[0].pack_ms = 2;
  predicted.profile.transports = {{"threads", 100, 0}, {"inline", 0.5, 0}};
  // Four activations and four gradients over one boundary.
  CHECK(predicted.step().step_ms ==
        Approx(4 * 6 * 3 + 4 * (0.5 + 0.25 + 0.125) + 7 + 3 + 2 + 8 * 0.5));
}

// With copies no update is fused, so the gradient is written and read again. What the profile
// measured apart from the backward is so in either case.
TEST_CASE("with copies a fused update is charged what fusing saves", "[predict]") {
  Predicted predicted({.stages = 2, .microbatches = 4, .schedule = "data_parallel"});
  predicted.profile.memory = {{1, 1e6}};  // 1,000 bytes take a millisecond
  predicted.profile.layers[0].parameter_bytes = 500;
  predicted.profile.points[0].layers[0].update_ms = 3;
  const double apart = predicted.step().step_ms;
  predicted.profile.points[0].layers[0].update_ms = 0;
  predicted.profile.points[0].layers[0].fused_update_ms = 3;
  CHECK(predicted.step().step_ms == Approx(apart + 2 * 0.5));
}

// Of a micro-batch 4 x 16 floats. Four together take 1,024 bytes, which memory is slower with.
TEST_CASE("gradients that go together are charged for leaving the caches", "[predict]") {
  for (const std::string schedule : {"gpipe", "timeprest"}) {
    Predicted predicted({.stages = 2, .microbatches = 4, .schedule = schedule});
    predicted.profile.memory = {{512, 1e6}, {1024, 1e6}};
    const double in_caches = predicted.step().step_ms;
    predicted.profile.memory[1].bytes_per_second = 5e5;
    const double longer = 4 * 2 * 0.256;  // written again, after a read: a millisecond per kB
    CHECK(predicted.step().step_ms == Approx(in_caches + (schedule == "timeprest" ? longer : 0)));
  }
}

// Memory is as fast for the 3 x 4 bytes per parameter that a copy's backward comes back to as for
// anything smaller, and twice as slow for all that is held.
TEST_CASE("one thread finds nothing of another copy in the caches", "[predict]") {
  const auto changed = [](const ConfigChoice& choice) {
    Predicted predicted(choice);
    std::int64_t most = 0, all = 0;
    for (const StagePlan& stage : make_plan(predicted.graph, predicted.config, {}).stages) {
      most = std::max<std::int64_t>(most, stage.parameters);
      all += stage.parameters;
    }
    const std::int64_t near = 12 * most;
    predicted.profile.memory = {{near, 1e6}, {near + 1, 1e6}};
    const double in_caches = predicted.step().step_ms;
    predicted.profile.memory[1].bytes_per_second = 5e5;
    return (predicted.step().step_ms - in_caches) / (12e-3 * static_cast<double>(all));
  };
  CHECK(changed({.stages = 2, .microbatches = 4, .workers = "inline"}) == 0);
  CHECK(changed({.stages = 2, .microbatches = 4, .schedule = "v_timeprest", .workers = "inline"}) ==
        0);
  // Each of two copies has a first backward; and they read two gradients and write two sums.
  CHECK(
      changed({.stages = 2, .microbatches = 4, .schedule = "data_parallel", .workers = "inline"}) ==
      Approx(2 + 4 / 3.));
}

TEST_CASE("threads are predicted by the times beside neighbours, a single thread is not",
          "[predict]") {
  for (const std::string workers : {"threads", "inline"}) {
    Predicted predicted(
        {.stages = 2, .microbatches = 4, .schedule = "pipedream", .workers = workers});
    predicted.profile.points.push_back(predicted.profile.points[0]);
    predicted.profile.points[1].neighbours = 1;
    for (LayerTimes& layer : predicted.profile.points[1].layers) layer.forward_ms = 2;
    CHECK(predicted.step().step_ms == Approx(workers == "threads" ? 4 * 3 * 4 : 4 * 6 * 3));
  }
}

TEST_CASE("workers that share cores take at least all work over the cores", "[predict]") {
  const PredictedStep step =
      Predicted({.stages = 6, .microbatches = 16, .schedule = "pipedream"}).step();
  const double cores = std::min(6, available_cores());
  CHECK(step.step_ms == Approx(16 * 6 * 3 / cores));
}

// Two mini-batches are in flight: a step takes half a mini-batch's way there and back, on the mean
// of one that is short and one that is long. The gradient is sent before the weight gradient of a
// stage's first layer.
TEST_CASE("a step is the mean of those that differ", "[predict][link]") {
  Predicted predicted({.stages = 2, .microbatches = 1, .schedule = "pipedream"});
  predicted.config.hardware.link = {0, 20'000};
  CHECK(predicted.step().step_ms == Approx((12 + 20 + 12 + 20 + 20 + 24) / 2.0));
}

// A message's 4 x 16 floats take 64 ms; a stage's own work takes 36, too little to hide them.
TEST_CASE("messages and sums take their time on a link", "[predict][link]") {
  Predicted predicted({.stages = 2, .microbatches = 4, .schedule = "pipedream"});
  const double without = predicted.step().step_ms;
  predicted.config.hardware.link.gbits = 256 * 8 / 1e9 / 0.064;
  CHECK(predicted.step().step_ms >= Approx(4 * 64));  // each link is busy all the time
  predicted.config.hardware.link = {0, 10'000};
  const double late = predicted.step().step_ms;
  CHECK(late > without);
  CHECK(late < without + 4 * 2 * 10 + 1e-6);
  predicted.config.hardware.workers = Workers::Inline;
  const double inline_step = predicted.step().step_ms;
  predicted.config.hardware.link = {};
  CHECK(predicted.step().step_ms == inline_step);
  // Both halves of the ring over two workers: half of 565 floats each.
  Predicted copies({.stages = 2, .microbatches = 4, .schedule = "data_parallel"});
  const double alone = copies.step().step_ms;
  copies.config.hardware.link.gbits = 565 * 4 * 8 / 1e9 / 0.01;
  CHECK(copies.step().step_ms == Approx(alone + 10));
}

TEST_CASE("a message that comes again with recomputation takes its time twice", "[predict][link]") {
  Predicted predicted({.stages = 2, .microbatches = 4, .schedule = "pipemare"});
  predicted.config.pipeline.warmup = Warmup::Full;
  predicted.config.hardware.link.gbits = 256 * 8 / 1e9 / 0.064;
  const double once = predicted.step().step_ms;
  CHECK(once == Approx(4 * 64));
  predicted.config.pipeline.recompute.rule = Recompute::Segments;
  predicted.config.pipeline.segment_stages = 2;
  CHECK(predicted.step().step_ms == Approx(2 * once));
}

TEST_CASE("times for another number of threads are refused", "[predict]") {
  Predicted predicted({.stages = 2, .microbatches = 4});
  predicted.profile.points[0].threads = 2;
  CHECK_THROWS_AS(predicted.step(), UsageError);
}
