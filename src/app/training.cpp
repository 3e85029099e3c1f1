#include "app/training.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"

namespace pipetrain {

using nlohmann::ordered_json;

Training::Training(const TrainingInput& input)
    : in_(input), reporter_(input.graph, input.length, input.pipeline.memory()) {}

void Training::run() {
  const DataConfig& data = in_.config.data;
  Loader loader(*in_.data.train,
                {.batch_size = data.batch_size,
                 .shuffle = data.shuffle,
                 .drop_last = data.drop_last,
                 .seed = in_.config.training.seed,
                 .depth = in_.pipeline.loader_depth(),
                 .reader_threads = in_.pipeline.reader_threads()},
                in_.pipeline.loader_readers());
  if (in_.config.validation.before_first_step) validate(0);
  for (std::int64_t step = 0; step < in_.length.steps;) {
    const std::int64_t end = segment_end(in_.config, in_.length, step);
    reporter_.begin_segment();
    in_.pipeline.train(loader, step, end - step, [&](const StepRecord& record) { report(record); });
    step = end;
    if (validates()) validate(step);
  }
  in_.console.end();
}

bool Training::validates() const {
  return in_.config.validation.every_steps > 0 || in_.config.validation.every_epochs > 0;
}

void Training::report(const StepRecord& record) {
  const StepSummary summary = reporter_.summarize(record);
  in_.metrics.write(step_event(summary));
  in_.console.step(summary);
  last_step_ = summary;
}

void Training::validate(std::int64_t step) {
  if (!in_.data.validation) return;
  const Evaluation e = evaluate(in_.pipeline, *in_.data.validation);
  const std::int64_t epoch = (step + in_.length.steps_per_epoch - 1) / in_.length.steps_per_epoch;
  ordered_json result = {{"step", step}, {"epoch", epoch}, {"loss", e.loss}};
  if (in_.data.validation->classes() > 0) result["accuracy"] = e.accuracy;
  ordered_json event = {{"event", "validation"}};
  event.update(result);
  in_.metrics.write(event);
  in_.console.line(
      fmt::format("validation after step {}: {}", step, text_of(e, *in_.data.validation)));
  last_validation_ = result;
}

ordered_json Training::start_event() const {
  const PipelineConfig& pipeline = in_.config.pipeline;
  return {{"event", "start"},
          {"config", in_.config.name},
          {"model", in_.graph.name},
          {"parameters", in_.graph.parameter_count()},
          {"schedule", pipeline.schedule},
          {"stages", pipeline.stages},
          {"microbatches", pipeline.microbatches},
          {"steps", in_.length.steps},
          {"steps_per_epoch", in_.length.steps_per_epoch}};
}

ordered_json Training::end_event() const {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started_;
  ordered_json event = {{"event", "end"}, {"step", in_.length.steps}, {"seconds", seconds.count()}};
  if (last_step_) event["loss"] = last_step_->loss;
  if (last_validation_) event["validation"] = *last_validation_;
  return event;
}

ordered_json Training::error_event(const std::exception& error) const {
  ordered_json event = {{"event", "error"}, {"step", last_step_ ? last_step_->step : 0}};
  if (const auto* ours = dynamic_cast<const Error*>(&error))
    event["exit_code"] = static_cast<int>(ours->code());
  event["message"] = error.what();
  return event;
}

}  // namespace pipetrain
