// One training from its first to its last mini-batch: segments between validations, each step told
// to metrics.jsonl and the console.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/report.hpp"
#include "app/session.hpp"
#include "metrics/console.hpp"
#include "metrics/jsonl.hpp"

namespace pipetrain {

struct TrainingInput {  // everything outlives the training
  const Config& config;
  const Graph& graph;
  const Datasets& data;
  const TrainingLength& length;
  Pipeline& pipeline;
  MetricsFile& metrics;
  Console& console;
};

class Training {
 public:
  explicit Training(const TrainingInput& input);

  void run();
  nlohmann::ordered_json start_event() const;
  nlohmann::ordered_json end_event() const;
  nlohmann::ordered_json error_event(const std::exception& error) const;

 private:
  bool validates() const;
  void report(const StepRecord& record);
  void validate(std::int64_t step);

  TrainingInput in_;
  StepReporter reporter_;
  std::optional<StepSummary> last_step_;
  std::optional<nlohmann::ordered_json> last_validation_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace pipetrain
