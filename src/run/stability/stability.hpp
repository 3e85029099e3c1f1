// How far a training by sgd is from diverging: the largest curvature of its loss, and from it the
// learning rate at which gradients as late as the schedule's begin to feed on themselves
// (edge.hpp). Measured between two segments, at the current weights.
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
  double lr = 0;       // of the stage's next update
  double lr_edge = 0;  // the largest stable rate if the whole direction were on this stage
  double share = 0;    // of the squared direction
};

struct Stability {
  std::int64_t step = 0;  // steps trained so far
  double curvature = 0;   // the largest, of the loss on the next mini-batch
  double change = 0;      // in the last iteration, relative
  double lr_edge = 0;     // the largest stable rate common to all stages
  double margin = 0;      // lr_edge over the current common rate; below 1 the training diverges
  bool rising = false;    // the loss, since the previous measurement
  double seconds = 0;     // that the measurement took
  std::vector<StageStability> stages;
};

// Compares the mean losses of consecutive intervals of steps.
class LossTrend {
 public:
  void see(double loss);
  // Ends the interval: is its mean more than twice that of the previous one (for the first
  // interval: than the first loss)? False if there is nothing to compare. `stable`: the interval is
  // one that later losses are compared with; otherwise a slow growth would hide itself.
  bool end_interval(bool stable = true);
  // Is this loss more than twice the first one and every stable interval's mean?
  bool leaps(double loss) const;

 private:
  double sum_ = 0;
  std::int64_t steps_ = 0;
  std::optional<double> before_;
  double highest_ = 0;  // of the first loss and the means
};

struct StabilityInput {      // everything must outlive it
  const Pipeline& pipeline;  // the one that trains
  const Dataset& train;
};

class StabilityMeter {
 public:
  explicit StabilityMeter(const StabilityInput& input);

  // Call with the loss of each step, so that a measurement knows whether it rises. Returns the last
  // measurement, once, if its margin was below 1 and the loss has leapt since: the training
  // diverges.
  const Stability* see(double loss);
  // After `step` steps. Costs two gradients of a mini-batch per iteration. Nothing if the gradients
  // are not finite, or all 0.
  std::optional<Stability> measure(std::int64_t step);

 private:
  std::optional<Direction> hessian_times(GradientProbe& probe, const std::vector<double>& scale,
                                         const Direction& direction) const;
  Direction first_direction(std::size_t size) const;
  std::vector<double> scale(std::int64_t step) const;  // per weight: root of its relative rate
  Stability judged(const Curvature& found, std::int64_t step) const;

  const StabilityInput in_;
  const Config& config_;
  const LearningRate learning_rate_;
  const std::vector<TrainedParameter> parameters_;
  const Indexed<double, StageId> delays_;
  Direction last_;                    // found last, from which the next measurement starts
  std::optional<Stability> watched_;  // the last measurement, if its margin was below 1
  bool warned_ = false;               // of it
  LossTrend trend_;
};

}  // namespace pipetrain
