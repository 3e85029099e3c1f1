// pipeline.rebalance = "auto": collects what the stages measure, asks the rebalancer at the end of
// each window of steps, and moves the cut of the running pipeline. A schedule that drains gives the
// same bits under every cut.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "metrics/console.hpp"
#include "run/rebalance/rebalancer.hpp"
#include "run/report.hpp"
#include "run/run_metrics.hpp"
#include "runtime/pipeline.hpp"

namespace pipetrain {

struct MovingCutInput {  // everything must outlive it
  Pipeline& pipeline;
  RunMetrics& metrics;
  Console& console;
  StepReporter& reporter;
  std::int64_t steps = 0;  // number of the last step
};

class MovingCut {
 public:
  explicit MovingCut(const MovingCutInput& input);

  // Steps from one window's end to the next; no segment may be longer.
  std::int64_t window() const { return window_; }
  void see(const StepRecord& record, double seconds);
  // Call between two segments, after `step` steps. Errors as in making a pipeline.
  void consider(std::int64_t step);

 private:
  bool is_over() const;
  MeasuredSteps measured(std::int64_t step) const;
  void move(const Move& move, std::int64_t step);
  void tell(const Move& move, std::int64_t step, double seconds, const std::string& refusal);
  std::vector<std::string> names(const std::vector<int>& firsts) const;

  const MovingCutInput in_;
  Rebalancer rebalancer_;
  std::int64_t window_;
  int unseen_;  // steps left in this window that do not count: caches are cold after a move
  double seen_seconds_ = 0;
  std::vector<double> step_seconds_;
  std::vector<std::vector<double>> busy_seconds_;  // per part, per step
};

}  // namespace pipetrain
