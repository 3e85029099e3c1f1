#include "run/saving.hpp"

#include <nlohmann/json.hpp>

#include "base/input_file.hpp"
#include "config/read.hpp"
#include "graph/graph.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Saving::Saving(const SavingInput& input)
    : in_(input),
      saver_({.checkpoints = input.run / "checkpoints",
              .keep_latest = input.config.checkpoint.keep_latest,
              .keep_best = input.config.checkpoint.keep_best,
              .before_commit = [&metrics = input.metrics] { metrics.flush(); }}) {
  if (input.job) others_.emplace(*input.job, input.pipeline.ranks_that_save());
  if (input.config.model.file.empty()) return;
  model_ = read_whole_file(input.config.model.file);
}

std::optional<std::string> Saving::due(std::int64_t step) const {
  const CheckpointConfig& rule = in_.config.checkpoint;
  if (rule.every_steps > 0 && step % rule.every_steps == 0) return "every_steps";
  if (rule.every_epochs > 0 && step % (rule.every_epochs * in_.steps_per_epoch) == 0)
    return "every_epochs";
  return std::nullopt;
}

bool Saving::minutes_are_over() const {
  const double minutes = in_.config.checkpoint.every_minutes;
  return minutes > 0 && seconds_since(last_time_) >= 60 * minutes;
}

void Saving::save(const Progress& progress, const std::string& reason) {
  if (last_step_ == progress.step) return;
  saver_.wait();  // before copying: there are never two copies in memory
  tell();
  const auto start = Clock::now();
  Snapshot snapshot;
  snapshot.manifest.model = in_.graph.name;
  snapshot.manifest.seed = in_.config.training.seed;
  snapshot.manifest.epoch = (progress.step + in_.steps_per_epoch - 1) / in_.steps_per_epoch;
  snapshot.manifest.progress = progress;
  snapshot.manifest.data = in_.data;
  snapshot.stages = in_.pipeline.state_to_save();
  if (others_)
    snapshot.others = {.begin = [this](const auto& folder) { others_->begin(folder); },
                       .finish = [this] { return others_->finish(); }};
  snapshot.config = dump_config(in_.config, false);
  snapshot.model = model_;
  if (has_own_order(in_.config.pipeline)) snapshot.program = to_text(in_.pipeline.program());
  pending_ = {reason, seconds_since(start)};
  saver_.save(std::move(snapshot));
  last_step_ = progress.step;
  last_time_ = Clock::now();
}

void Saving::tell() {
  while (const auto saved = saver_.committed())
    in_.metrics.write({{"event", "checkpoint"},
                       {"step", saved->step},
                       {"reason", pending_.reason},
                       {"path", saved->folder.string()},
                       {"bytes", saved->bytes},
                       {"copy_seconds", pending_.copy_seconds},
                       {"write_seconds", saved->seconds}});
}

void Saving::finish() {
  saver_.wait();
  tell();
}

}  // namespace pipetrain
