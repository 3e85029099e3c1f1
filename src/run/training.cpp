#include "run/training.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "base/bytes_text.hpp"
#include "base/error.hpp"
#include "checkpoint/folder.hpp"
#include "graph/graph.hpp"
#include "run/annealing.hpp"
#include "run/divergence.hpp"
#include "run/stability/words.hpp"

namespace pipetrain {

using nlohmann::ordered_json;

namespace {

ordered_json json_of(const ValidationResult& v, const Datasets& data) {
  ordered_json json = {{"step", v.step}, {"epoch", v.epoch}, {"loss", v.loss}};
  if (v.accuracy) json["accuracy"] = *v.accuracy;
  if (v.top5) json["top5"] = *v.top5;
  if (v.bleu) json["bleu"] = *v.bleu;
  if (!data.validation) return json;
  if (const auto perplexity = perplexity_of(v.loss, *data.validation))
    json["perplexity"] = *perplexity;
  return json;
}

}  // namespace

bool stops_early(const ValidationConfig& rule, const Progress& progress) {
  return rule.early_stopping > 0 && progress.without_progress >= rule.early_stopping;
}

Training::Training(const TrainingInput& input)
    : in_(input),
      progress_(input.begin),
      saving_({.config = input.config,
               .graph = input.graph,
               .pipeline = input.pipeline,
               .metrics = input.metrics,
               .run = input.folder,
               .data = input.data_sums,
               .steps_per_epoch = input.length.steps_per_epoch,
               .job = input.job}),
      reporter_(input.length, input.pipeline.memory(), worker_count(input.config.pipeline)),
      course_(input.data.train->classes()),
      communicated_(input.pipeline, *input.data.train, training_order(input.config)) {
  if (input.config.pipeline.rebalance == Rebalance::Auto)
    moving_cut_.emplace(MovingCutInput{input.pipeline, input.metrics, input.console, reporter_,
                                       input.length.steps});
  if (input.config.stability.every_steps > 0)
    stability_.emplace(StabilityInput{input.pipeline, *input.data.train});
}

void Training::run() {
  Loader loader(*in_.data.train,
                loader_options(in_.pipeline, in_.config, Mode::Train, progress_.step),
                in_.pipeline.loader_readers(Mode::Train));
  if (in_.config.validation.before_first_step && progress_.step == 0 && !progress_.last) {
    validate();
    if (in_.config.checkpoint.keep_best && progress_.best) saving_.save(progress_, "best");
  }
  if (progress_.step == 0) measure_stability();
  while (!ended()) {
    train_segment(loader);
    measure_stability();
    const bool due = validation_is_due();
    if (due) validate();
    const bool best = due && progress_.best && progress_.best->step == progress_.step;
    if (const auto reason = reason_to_save(best)) {
      progress_.seconds = seconds();
      saving_.save(progress_, *reason);
    }
    saving_.tell();
    if (moving_cut_ && !ended()) moving_cut_->consider(progress_.step);
  }
  saving_.finish();
  in_.console.end();
}

bool Training::ended() const {
  return progress_.step >= in_.length.steps || interrupted_ || stopped_early();
}

bool Training::stopped_early() const { return stops_early(in_.config.validation, progress_); }

void Training::train_segment(Loader& loader) {
  const std::int64_t first = progress_.step;
  std::int64_t end = segment_end(in_.config, in_.length, first);
  if (moving_cut_) end = std::min(end, first + moving_cut_->window());
  std::atomic<bool>& drain = interrupts_.drain();
  reporter_.begin_segment();
  progress_.step += in_.pipeline.train(
      loader, first, end - first,
      [&](const StepRecord& record) {
        report(record);
        saving_.tell();
        if (saving_.minutes_are_over()) drain = true;
      },
      &drain);
  communicated_.end_segment(first, progress_.step - first);
  drain = false;
  interrupted_ = interrupts_.stop_signal() != 0 && progress_.step < in_.length.steps;
}

std::optional<std::string> Training::reason_to_save(bool best) {
  const bool asked = take_save_request();
  if (interrupted_) return "signal";
  if (ended()) return "end";
  if (const auto key = saving_.due(progress_.step)) return key;
  if (asked) return "request";
  if (best && in_.config.checkpoint.keep_best) return "best";
  if (saving_.minutes_are_over()) return "every_minutes";
  return std::nullopt;
}

void Training::report(const StepRecord& record) {
  const StepSummary summary = reporter_.summarize(record);
  check_divergence({in_.config, in_.graph, in_.pipeline.input().plan, *in_.data.train}, record,
                   summary);
  in_.metrics.write(step_event(summary));
  in_.console.step(summary);
  course_.see(summary);
  if (stability_)
    if (const Stability* const found = stability_->see(summary.loss))
      warn_of_instability(*found, summary.step);
  progress_.skipped += summary.skipped ? 1 : 0;
  step_median_.add(summary.seconds);
  communicated_.count(summary.communication);
  if (moving_cut_) moving_cut_->see(record, summary.seconds);
  last_step_ = summary;
}

bool Training::validation_is_due() const {
  const ValidationConfig& rule = in_.config.validation;
  const std::int64_t step = progress_.step, epoch = in_.length.steps_per_epoch;
  if (!in_.data.validation || (rule.every_steps == 0 && rule.every_epochs == 0)) return false;
  if (step == 0 || (progress_.last && progress_.last->step == step)) return false;
  return step == in_.length.steps || (rule.every_steps > 0 && step % rule.every_steps == 0) ||
         (rule.every_epochs > 0 && step % (rule.every_epochs * epoch) == 0);
}

void Training::validate() {
  if (!in_.data.validation) return;
  const double start = seconds();
  Evaluation e = evaluate(in_.pipeline, *in_.data.validation, in_.config);
  if (in_.bleu) e.bleu = in_.bleu->of(in_.pipeline.parameters());
  const std::int64_t step = progress_.step, epoch_steps = in_.length.steps_per_epoch;
  ValidationResult result{step, (step + epoch_steps - 1) / epoch_steps, e.loss, {}, e.top5, e.bleu};
  if (in_.data.validation->classes() > 0) result.accuracy = e.accuracy;
  ordered_json event = {{"event", "validation"}};
  event.update(json_of(result, in_.data));
  std::size_t memory = 0;
  for (const HeldMemory& stage : in_.pipeline.memory()) {
    event["validation_memory_bytes"].push_back(stage.validation.total());
    memory += stage.validation.total();
  }
  in_.metrics.write(event);
  in_.console.line(fmt::format("validation after step {}: {}, memory {}", step,
                               text_of(e, *in_.data.validation), bytes_text(memory)));
  in_.console.validated(seconds() - start, validations_after(in_.config.validation,
                                                             in_.length.steps, epoch_steps, step));
  const bool better = is_best(result);
  if (better) progress_.best = result;
  progress_.without_progress = better ? 0 : progress_.without_progress + 1;
  progress_.last = result;
}

void Training::measure_stability() {
  if (!stability_ || ended() || progress_.step % in_.config.stability.every_steps != 0) return;
  const auto found = stability_->measure(progress_.step);
  if (!found)
    return in_.console.line(
        fmt::format("stability after step {}: not measured, because the gradients are all zero or "
                    "not finite",
                    progress_.step));
  in_.metrics.write(stability_event(*found));
  in_.console.line(stability_text(*found));
  if (is_unstable(*found)) warn_of_instability(*found, progress_.step);
}

void Training::warn_of_instability(const Stability& found, std::int64_t step) {
  const std::string warning = stability_warning(found, step, in_.config);
  spdlog::warn("{}", warning);
  in_.metrics.write({{"event", "warning"}, {"step", step}, {"message", warning}});
}

// A validation whose loss is not finite is never the best.
bool Training::is_best(const ValidationResult& result) const {
  if (!std::isfinite(result.loss)) return false;
  if (!progress_.best) return true;
  const ValidationResult& best = *progress_.best;
  if (result.bleu) return !best.bleu || *result.bleu > *best.bleu;
  return std::isnan(best.loss) || result.loss < best.loss;
}

double Training::seconds() const {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - started_;
  return in_.begin.seconds + now.count();
}

ordered_json Training::start_event() const {
  const PipelineConfig& pipeline = in_.config.pipeline;
  ordered_json event = {{"event", "start"},
                        {"step", in_.begin.step},
                        {"config", in_.config.name},
                        {"model", in_.graph.name},
                        {"parameters", in_.graph.parameter_count()},
                        {"schedule", schedule_name(pipeline)},
                        {"stages", pipeline.stages},
                        {"microbatches", pipeline.microbatches},
                        {"steps", in_.length.steps},
                        {"steps_per_epoch", in_.length.steps_per_epoch}};
  add_annealing(event, in_.config, in_.length);
  return event;
}

ordered_json Training::end_event() const {
  ordered_json event = {{"event", "end"}, {"step", progress_.step}, {"seconds", seconds()}};
  if (interrupted_)
    event["stopped_by"] = signal_name(interrupts_.stop_signal());
  else if (stopped_early())
    event["stopped_by"] = "early_stopping";
  if (progress_.skipped > 0) event["skipped"] = progress_.skipped;
  if (last_step_) event["loss"] = last_step_->loss;
  if (last_step_) event["step_ms_median"] = step_median_.ms();
  if (in_.predicted_step_ms) event["step_ms_predicted"] = *in_.predicted_step_ms;
  if (const auto communication = communicated_.json()) event["communication"] = *communication;
  if (progress_.last) event["validation"] = json_of(*progress_.last, in_.data);
  if (progress_.best) event["best_validation"] = json_of(*progress_.best, in_.data);
  if (const auto best = best_checkpoint()) event["best_checkpoint"] = best->string();
  if (const auto dropped = in_.console.dropped_lines()) event["dropped_lines"] = dropped;
  if (const auto warning = course_.warning()) event["warning"] = *warning;
  return event;
}

std::optional<std::filesystem::path> Training::best_checkpoint() const {
  if (!progress_.best) return std::nullopt;
  const std::filesystem::path folder = in_.folder / "checkpoints";
  const std::int64_t step = progress_.best->step;
  if (std::ranges::count(committed_checkpoints(folder), step) == 0) return std::nullopt;
  return folder / checkpoint_name(step);
}

ordered_json Training::error_event(const std::exception& error) const {
  ordered_json event = {{"event", "error"},
                        {"step", last_step_ ? last_step_->step : in_.begin.step}};
  if (const auto* ours = dynamic_cast<const Error*>(&error))
    event["exit_code"] = static_cast<int>(ours->code());
  event["message"] = error.what();
  return event;
}

}  // namespace pipetrain
