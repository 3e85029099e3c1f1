#include "profile/watched_training.hpp"

#include "base/clock.hpp"
#include "run/session.hpp"

namespace pipetrain {
namespace {

Config for_watching(const WatchedModel& model) {
  Config config = model.config;
  config.pipeline = {};
  config.pipeline.stages = static_cast<int>(model.firsts.size());
  config.pipeline.microbatches = model.microbatches;
  config.pipeline.schedule = model.schedule;
  config.data.batch_size = std::int64_t{model.samples} * model.microbatches;
  config.data.drop_last = true;
  config.validation = {};
  config.lr_schedule = {};
  config.optimizer.lr = 0;  // every step is the same work, whatever the weights become
  config.hardware.threads_per_stage = model.threads;
  config.hardware.workers = Workers::Inline;
  config.hardware.memory_limit = 0;
  return config;
}

std::vector<LayerClock> clocks_of(const Plan& plan) {
  std::vector<LayerClock> clocks;
  for (const StagePlan& stage : plan.stages)
    clocks.emplace_back(stage.last.value - stage.first.value + 1);
  return clocks;
}

}  // namespace

WatchedTraining::WatchedTraining(const WatchedModel& model)
    : graph_(model.graph),
      data_(model.data),
      config_(for_watching(model)),
      backend_(make_backend(config_.hardware.backend, config_.hardware.devices)),
      plan_(plan_from_cuts(graph_, model.firsts)),
      pipeline_(input()),
      clocks_(clocks_of(plan_)),
      loader_(data_,
              {.order = training_order(config_),
               .depth = pipeline_.loader_depth(Mode::Train),
               .reader_threads = 1},
              pipeline_.loader_readers(Mode::Train)) {
  pipeline_.set_parameters(first_parameters(config_, graph_));
  for (int s = 0; s < stages(); ++s)
    pipeline_.set_watch({s}, &clocks_[static_cast<std::size_t>(s)]);
}

PipelineInput WatchedTraining::input() const {
  constexpr std::int64_t longest = 1 << 20;
  PipelineInput input{graph_, plan_, config_, *backend_, longest};
  input.sizes.train = data_.order(training_order(config_))->sizes();
  return input;
}

double WatchedTraining::run(int steps) {
  const std::int64_t begin = now_ns();
  pipeline_.train(loader_, next_, steps, [](const StepRecord&) {});
  next_ += steps;
  return static_cast<double>(now_ns() - begin) * 1e-6 / steps;
}

void WatchedTraining::end_lot(int steps) {
  for (LayerClock& clock : clocks_) clock.end_lot(steps, config_.pipeline.microbatches);
}

void WatchedTraining::forget() {
  end_lot(1);
  for (LayerClock& clock : clocks_) clock.forget();
}

std::int64_t WatchedTraining::held_bytes() const {
  std::size_t bytes = 0;
  for (const HeldMemory& stage : pipeline_.memory()) bytes += stage.training.total();
  return static_cast<std::int64_t>(bytes);
}

double WatchedTraining::watched_ms(std::size_t lot) const {
  double ms = 0;
  for (const LayerClock& clock : clocks_) ms += clock.watched_ms(lot);
  return ms;
}

}  // namespace pipetrain
