// How far a training by sgd is from diverging: the largest curvature of its loss, and with it the
// learning rate at which gradients as late as the schedule's begin to feed on themselves
// (edge.hpp). Measured between two segments, on the weights as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run/stability/curvature.hpp"
#include "run/stability/gradient_probe.hpp"
#include "stage/learning_rate.hpp"

namespace pipetrain {

struct StageStability {
  double delay = 0;    // updates
  double lr = 0;       // of its next update
  double lr_edge = 0;  // the largest stable rate, were the whole direction on this stage
  double share = 0;    // of the squared direction
};

struct Stability {
  std::int64_t step = 0;  // trained so far
  double curvature = 0;   // the largest, of the loss of the step's next mini-batch
  double change = 0;      // relative, of the last iteration
  double lr_edge = 0;     // the largest stable common rate, of all stages together
  double margin = 0;      // that over the common rate now: below 1 the training diverges
  bool rising =
      true;  // the loss, since the measurement before; true too where there was no step yet
  double seconds = 0;  // that it took
  std::vector<StageStability> stages;
};

// Mean losses of one interval of steps after the other.
class LossTrend {
 public:
  void see(double loss);
  // The interval ends: is its mean above the one before (the first interval's: the first loss) by
  // more than twice? True where there is nothing to compare.
  bool end_interval();

 private:
  double sum_ = 0;
  std::int64_t steps_ = 0;
  std::optional<double> before_;
};

struct StabilityInput {      // everything outlives it
  const Pipeline& pipeline;  // that trains
  const Dataset& train;
};

class StabilityMeter {
 public:
  explicit StabilityMeter(const StabilityInput& input);

  // The loss of each step, so that a measurement knows whether it rises.
  void see(double loss);
  // After `step` steps: the gradients of two mini-batches an iteration. Nothing where the
  // gradients are not finite, or all 0.
  std::optional<Stability> measure(std::int64_t step);

 private:
  std::optional<Direction> hessian_times(GradientProbe& probe, const std::vector<double>& scale,
                                         const Direction& direction) const;
  Direction first_direction(std::size_t size) const;
  std::vector<double> scale(std::int64_t step) const;  // per weight: the root of its relative rate
  Stability judged(const Curvature& found, std::int64_t step) const;

  const StabilityInput in_;
  const Config& config_;
  const LearningRate learning_rate_;
  const std::vector<TrainedParameter> parameters_;
  const Indexed<double, StageId> delays_;
  Direction last_;  // found, to begin with the next time
  LossTrend trend_;
};

}  // namespace pipetrain
