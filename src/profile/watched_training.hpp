// A model that is trained on the calling thread, with a clock around every kernel: what the
// profiler measures, and what keeps its neighbours busy meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "config/config.hpp"
#include "data/dataset.hpp"
#include "profile/layer_clock.hpp"
#include "runtime/pipeline.hpp"

namespace pipetrain {

struct Graph;

struct WatchedModel {
  const Config& config;  // its precision, optimizer, data and hardware count, not its pipeline
  const Graph& graph;
  const Dataset& data;
  int samples = 1;  // of a micro-batch
  int threads = 1;
  int microbatches = 2;  // in a mini-batch, all in flight; at least two
  std::string schedule = "gpipe";
  std::vector<int> firsts = {0};  // of its stages
};

// Threading: used by one thread, which it does not pin and on which it does all its work.
class WatchedTraining {
 public:
  // Throws DeviceError, DataError and UsageError as training does. Trains from initial weights. The
  // last micro-batch has the update fused into its weight gradient; the others do not.
  explicit WatchedTraining(const WatchedModel& model);

  // Milliseconds per mini-batch, on average over `steps`.
  double run(int steps);
  // Makes the steps since the last lot one measurement.
  void end_lot(int steps);
  void forget();
  const LayerClock& clock(int stage) const { return clocks_[static_cast<std::size_t>(stage)]; }
  std::int64_t held_bytes() const;  // by all stages
  int stages() const { return static_cast<int>(clocks_.size()); }
  double watched_ms(std::size_t lot) const;  // per mini-batch, on all stages

 private:
  PipelineInput input() const;

  const Graph& graph_;
  const Dataset& data_;
  const Config config_;
  const std::unique_ptr<Backend> backend_;
  const Plan plan_;
  Pipeline pipeline_;
  std::vector<LayerClock> clocks_;
  Loader loader_;
  std::int64_t next_ = 0;
};

}  // namespace pipetrain
