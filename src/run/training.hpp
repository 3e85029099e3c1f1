// One training from its start to its end: segments between validations and saves, and each step
// reported to the run's metrics and the console.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/manifest.hpp"
#include "metrics/console.hpp"
#include "run/bleu_score.hpp"
#include "run/communicated.hpp"
#include "run/course.hpp"
#include "run/interrupts.hpp"
#include "run/rebalance/moving_cut.hpp"
#include "run/report.hpp"
#include "run/run_metrics.hpp"
#include "run/saving.hpp"
#include "run/session.hpp"
#include "run/stability/stability.hpp"
#include "run/step_median.hpp"

namespace pipetrain {

struct Graph;

struct TrainingInput {  // everything must outlive the training
  const Config& config;
  const Graph& graph;
  const Datasets& data;
  const DataSums& data_sums;
  const TrainingLength& length;
  Pipeline& pipeline;
  RunMetrics& metrics;
  Console& console;
  BleuScore* bleu;                               // null: validation goes by the loss
  const std::filesystem::path& folder;           // the run's
  Progress begin = {};                           // 0, or a checkpoint's
  std::optional<double> predicted_step_ms = {};  // from a profile
  Job* job = nullptr;                            // with several ranks
};

// Have this many validations passed without progress?
bool stops_early(const ValidationConfig& rule, const Progress& progress);

class Training {
 public:
  explicit Training(const TrainingInput& input);

  void run();
  int stop_signal() const { return interrupts_.stop_signal() * interrupted_; }  // 0: ran to its end
  const Progress& progress() const { return progress_; }

  nlohmann::ordered_json start_event() const;
  nlohmann::ordered_json end_event() const;
  nlohmann::ordered_json error_event(const std::exception& error) const;

 private:
  bool ended() const;
  bool stopped_early() const;
  void train_segment(Loader& loader);
  bool validation_is_due() const;
  void validate();
  void measure_stability();
  void warn_of_instability(const Stability& found, std::int64_t step);
  bool is_best(const ValidationResult& result) const;
  std::optional<std::string> reason_to_save(bool best);
  void report(const StepRecord& record);
  std::optional<std::filesystem::path> best_checkpoint() const;
  double seconds() const;

  TrainingInput in_;
  Progress progress_;
  Interrupts interrupts_;
  Saving saving_;
  StepReporter reporter_;
  Course course_;
  std::optional<MovingCut> moving_cut_;  // pipeline.rebalance
  std::optional<StepSummary> last_step_;
  StepMedian step_median_;
  Communicated communicated_;
  std::optional<StabilityMeter> stability_;  // stability.every_steps
  bool interrupted_ = false;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace pipetrain
