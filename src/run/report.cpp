#include "run/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/clock.hpp"

namespace pipetrain {
namespace {

// A NaN's sign means nothing; "-nan" would only raise questions.
double unsigned_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

}  // namespace

StepReporter::StepReporter(const TrainingLength& length, std::vector<HeldMemory> memory,
                           int workers)
    : length_(length), memory_(std::move(memory)), workers_(workers) {
  begin_segment();
}

void StepReporter::begin_segment() { last_end_ns_ = now_ns(); }

StepSummary StepReporter::summarize(const StepRecord& record) {
  std::int64_t end = last_end_ns_;
  double busy = 0;
  for (const StageStep& stage : record.stages) {
    end = std::max(end, stage.end_ns);
    busy += stage.busy_seconds;
  }
  const StageStep& last = record.stages.back();
  StepSummary s;
  s.step = record.step + 1;
  s.epoch = record.step / length_.steps_per_epoch + 1;
  s.samples = last.samples;
  const auto labels = static_cast<double>(last.labels);
  s.loss = unsigned_nan(last.loss.sum / labels);
  s.accuracy = static_cast<double>(last.loss.correct) / labels;
  s.lr = record.lr;
  s.grad_norm = unsigned_nan(std::sqrt(record.squared_norm()));
  s.seconds = std::max(1e-9, static_cast<double>(end - last_end_ns_) * 1e-9);
  s.samples_per_second = s.samples / s.seconds;
  if (last.labels != last.samples) s.tokens_per_second = labels / s.seconds;
  s.bubble = std::clamp(1 - busy / (s.seconds * workers_), 0.0, 1.0);
  s.skipped = std::ranges::any_of(record.stages, &StageStep::skipped);  // each by its own norm
  last_end_ns_ = end;
  for (std::size_t i = 0; i < record.stages.size(); ++i) {
    const StageStep& stage = record.stages[i];
    const double seconds = s.seconds * stage.copies;
    s.communication.stages.push_back(stage.communication);
    s.stages.push_back({std::min(1.0, stage.busy_seconds / seconds),
                        std::min(1.0, stage.waiting_seconds / seconds), memory_[i].training.total(),
                        stage.weight_versions, stage.staleness});
  }
  return s;
}

}  // namespace pipetrain
