// When a training saves, and what it reports about that. The copy is taken between two segments; a
// thread writes it while the next one runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/background.hpp"
#include "config/config.hpp"
#include "run/rank_saving.hpp"
#include "run/run_metrics.hpp"
#include "runtime/pipeline.hpp"

namespace pipetrain {

struct Graph;

struct SavingInput {  // everything must outlive it
  const Config& config;
  const Graph& graph;
  const Pipeline& pipeline;
  RunMetrics& metrics;
  std::filesystem::path run;  // the run's folder
  const DataSums& data;
  std::int64_t steps_per_epoch = 1;
  Job* job = nullptr;  // with several ranks: each writes its own stages
};

class Saving {
 public:
  explicit Saving(const SavingInput& input);

  // The key of [checkpoint] that asks for a save after this step, for example "every_steps"; none
  // if no key does.
  std::optional<std::string> due(std::int64_t step) const;
  bool minutes_are_over() const;  // have every_minutes passed since the last save?

  // `reason` is written to the metrics. Saving the same step again does nothing.
  void save(const Progress& progress, const std::string& reason);
  // Writes events for saves that have been committed meanwhile. DeviceError if a save failed.
  void tell();
  void finish();  // waits until everything is on disk, then tell()

 private:
  struct Pending {
    std::string reason;
    double copy_seconds = 0;
  };
  SavingInput in_;
  std::string model_;  // the model file's text
  std::optional<RankWriters> others_;
  BackgroundSaver saver_;
  Pending pending_;  // of the save under way
  std::optional<std::int64_t> last_step_;
  std::chrono::steady_clock::time_point last_time_ = std::chrono::steady_clock::now();
};

}  // namespace pipetrain
