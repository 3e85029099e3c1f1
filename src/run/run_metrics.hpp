// Everything that a run writes about its steps in its folder: metrics.jsonl always, and what
// [metrics] asks for beside it: a TensorBoard event file and trace.json.
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
  const Program& program;       // the one that trains; outlives the metrics
  std::int64_t keep_steps = 0;  // of what is there, that of later steps goes: the checkpoint's step
};

// DeviceError when the disk refuses something.
class RunMetrics {
 public:
  explicit RunMetrics(const RunMetricsInput& input);
  // A trace that a failure left without its last steps is written here, if it can be.
  ~RunMetrics();
  RunMetrics(const RunMetrics&) = delete;
  RunMetrics& operator=(const RunMetrics&) = delete;

  void write(const nlohmann::ordered_json& event);        // in the files when this returns
  void flush() const;                                     // on the disk when this returns
  void close();                                           // once no worker runs any more
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
