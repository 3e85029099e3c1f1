#include "profile/measure.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/median.hpp"
#include "machine/threads.hpp"
#include "plan/cost.hpp"
#include "plan/crossing.hpp"
#include "profile/layer_clock.hpp"
#include "profile/machine_figures.hpp"
#include "run/session.hpp"
#include "runtime/pipeline.hpp"

namespace pipetrain {
namespace {

// Two micro-batches: the weight gradient of the first is without an update, the second's with it.
constexpr int microbatches = 2;
constexpr std::int64_t warm_up = 3, steps_least = 10, steps_most = 400;

Config as_one_stage(Config config, int samples, int threads) {
  config.pipeline = {};
  config.pipeline.stages = 1;
  config.pipeline.microbatches = microbatches;
  config.pipeline.schedule = "gpipe";
  config.data.batch_size = samples * microbatches;
  config.data.drop_last = true;
  config.validation = {};
  config.lr_schedule = {};
  config.optimizer.lr = 0;  // whatever the weights do, every step is the same work
  config.hardware.threads_per_stage = threads;
  config.hardware.workers = Workers::Inline;
  config.hardware.memory_limit = 0;
  return config;
}

class OnePoint {
 public:
  OnePoint(const MeasureInput& in, int samples, int threads)
      : in_(in),
        config_(as_one_stage(in.config, samples, threads)),
        backend_(make_backend(config_.hardware.backend, config_.hardware.devices)),
        plan_(plan_from_cuts(in.graph, {0})),
        pipeline_(input()),
        clock_(static_cast<int>(in.graph.layers.size())) {
    pipeline_.set_parameters(first_parameters(config_, in.graph));
    pipeline_.set_watch({0}, &clock_);
  }

  ProfilePoint measure() {
    Loader loader(
        in_.data,
        {.order = training_order(config_), .depth = pipeline_.loader_depth(), .reader_threads = 1},
        pipeline_.loader_readers(Mode::Train));
    run(loader, warm_up);
    clock_.forget();
    step_seconds_.clear();
    while (!enough()) run(loader, steps_least);
    return point();
  }

 private:
  PipelineInput input() {
    PipelineInput input{in_.graph, plan_, config_, *backend_, steps_most};
    input.sizes.train = in_.data.order(training_order(config_))->sizes();
    return input;
  }

  void run(Loader& loader, std::int64_t steps) {
    for (std::int64_t s = 0; s < steps; ++s, ++next_) {
      pipeline_.train(loader, next_, 1, [&](const StepRecord& record) {
        step_seconds_.push_back(record.stages[0].busy_seconds);
      });
      clock_.end_step();
    }
  }

  bool enough() const {
    double seconds = 0;
    for (const double s : step_seconds_) seconds += s;
    const auto steps = static_cast<std::int64_t>(clock_.steps());
    return steps >= steps_most || (steps >= steps_least && seconds >= in_.seconds);
  }

  ProfilePoint point() const {
    ProfilePoint point{.samples = static_cast<int>(config_.data.batch_size) / microbatches,
                       .threads = config_.hardware.threads_per_stage,
                       .layers = clock_.medians(microbatches)};
    double layers_ms = 0;
    for (const LayerTimes& l : point.layers)
      layers_ms += microbatches * (l.forward_ms + l.backward_input_ms + l.backward_weight_ms) +
                   l.update_ms + l.fused_update_ms;
    point.rest_ms = std::max(0.0, 1e3 * median(step_seconds_) - layers_ms) / microbatches;
    return point;
  }

  const MeasureInput& in_;
  const Config config_;
  const std::unique_ptr<Backend> backend_;
  const Plan plan_;
  Pipeline pipeline_;
  LayerClock clock_;
  std::vector<double> step_seconds_;
  std::int64_t next_ = 0;
};

std::vector<ProfiledLayer> layers_of(const Config& config, const Graph& graph) {
  const int bytes = config.training.precision == Precision::Bf16 ? 2 : 4;
  std::vector<ProfiledLayer> layers;
  for (int l = 0; l < std::ssize(graph.layers); ++l) {
    const Layer& layer = graph.layers[l];
    const bool last = l + 1 == std::ssize(graph.layers);
    layers.push_back({.name = layer.name,
                      .kind = std::string(kind_name(layer.spec)),
                      .sent_bytes = last ? 0 : crossing_bytes(graph, {l + 1}) / 4 * bytes,
                      .saved_bytes = layer.output.elements() * bytes,
                      .parameter_bytes = owned_elements(layer) * 4,
                      .flops = layer.flops});
  }
  return layers;
}

void check_samples(const MeasureInput& in) {
  const int largest = std::ranges::max(in.samples);
  if (std::int64_t{largest} * microbatches <= in.data.size()) return;
  throw UsageError(fmt::format(
      "micro-batches of {} cannot be measured: that takes {} samples, and the data have {}; write "
      "smaller --microbatch-sizes, or take more data",
      largest, std::int64_t{largest} * microbatches, in.data.size()));
}

}  // namespace

std::vector<int> microbatch_sizes_to_measure(std::int64_t batch_size, const Dataset& data) {
  constexpr int most = 6;
  std::vector<int> sizes;
  for (std::int64_t size = batch_size; size >= 1 && std::ssize(sizes) < most; size /= 2)
    if (size * microbatches <= data.size()) sizes.push_back(static_cast<int>(size));
  std::ranges::sort(sizes);
  return sizes.empty() ? std::vector{1} : sizes;
}

std::vector<int> threads_to_measure(const Config& config) {
  if (config.hardware.threads_per_stage > 0) return {config.hardware.threads_per_stage};
  std::vector<int> threads;
  for (int stages = available_cores(); stages >= 1; --stages) {
    const int each = available_cores() / stages;
    if (threads.empty() || threads.back() != each) threads.push_back(each);
  }
  return threads;
}

Profile measure_profile(const MeasureInput& in) {
  check_samples(in);
  Profile profile{.key = profile_key(in.config, in.graph),
                  .layers = layers_of(in.config, in.graph)};
  for (const int threads : in.threads)
    for (const int samples : in.samples)
      profile.points.push_back(OnePoint(in, samples, threads).measure());
  profile.transports = {measure_handover()};
  profile.memory_bytes_per_second = measure_memory_bandwidth();
  return profile;
}

}  // namespace pipetrain
