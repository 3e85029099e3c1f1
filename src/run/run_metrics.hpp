// Everything that a run writes into its folder about its steps: always metrics.jsonl, and what
// [metrics] asks for besides: a TensorBoard event file and trace.json.
#pragma once

#include <filesystem>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "metrics/jsonl.hpp"
#include "metrics/tensorboard.hpp"
#include "metrics/trace.hpp"

namespace pipetrain {

struct RunMetricsInput {
  std::filesystem::path folder;
  const MetricsConfig& config;
  const Program& program;       // the one that is trained
  std::int64_t keep_steps = 0;  // the checkpoint's step: later events are removed
};

// DeviceError if the disk refuses something.
class RunMetrics {
 public:
  explicit RunMetrics(const RunMetricsInput& input);
  // Writes, if possible, a trace whose last steps are missing because of a failure.
  ~RunMetrics();
  RunMetrics(const RunMetrics&) = delete;
  RunMetrics& operator=(const RunMetrics&) = delete;

  void write(const nlohmann::ordered_json& event);        // in the files when this returns
  void flush() const;                                     // on disk when this returns
  void close();                                           // call when no worker runs any more
  Trace* trace() { return trace_ ? &*trace_ : nullptr; }  // for Pipeline::set_trace

 private:
  void write_trace();

  std::filesystem::path folder_;
  MetricsFile jsonl_;
  std::optional<TensorBoardFile> tensorboard_;
  std::optional<Trace> trace_;
  bool trace_is_written_ = false;
};

}  // namespace pipetrain
