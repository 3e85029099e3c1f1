// The optimizer's step of one stage: its rule from the config, its moments in the stage's memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "config/config.hpp"
#include "runtime/weight_store.hpp"

namespace pipetrain {

// How a stage keeps up the mean motion of its weights (PipeMare, section 3.2).
struct DeltaRule {
  bool keeps = false;
  double decay = 0;       // gamma of the stage
  double correction = 0;  // updates that every backward is set back by; 0: differs, made when read
};

// Accumulated gradients, moments and delta of one stage's parameters. Of one worker.
class StageOptimizer {
 public:
  StageOptimizer(Stream& stream, const OptimizerConfig& config, const DeltaRule& delta,
                 const WeightStore& weights, std::span<const Layer> layers, StageMemory& memory);

  // Gradient accumulators of one layer, in the stored layout, for BackwardWeightArguments.
  std::span<void* const> gradients(int layer) const {
    return gradients_[static_cast<std::size_t>(layer)];
  }
  // The same of one parameter, in parameter order.
  std::span<float> gradient(int parameter) const;
  // Sum of squares of each parameter's gradient, in parameter order. `sums` are results
  // (backend/stream.hpp) here and below.
  void sums_of_squares(std::span<double> sums) const;
  // One step at this rate; `step` counts from 1. Writes the next version; the caller advances.
  // Where `sums` is not empty it gets what sums_of_squares() gives, without another pass.
  void apply(WeightStore& weights, double lr, double gradient_scale, std::int64_t step,
             std::span<double> sums = {});
  // An update by nothing: the next version equals the live one.
  void skip(WeightStore& weights) const;

  // The same for one layer, to be done by its kernel; null where the rule is not sgd, or where it
  // has been asked for since the last apply(), which leaves the layer out. Holds until the next
  // call.
  const FusedUpdate* fused(WeightStore& weights, int layer, double lr, std::int64_t step,
                           std::span<double> sums);

  // false: delta stays as it is, as if there were none (PipeMare's synchronous epochs).
  void keep_up_delta(bool on) { keeps_up_delta_ = on; }
  // Null where the rule keeps none.
  float* delta(int layer, int parameter) const;
  int parameters() const { return static_cast<int>(items_.size()); }
  // What the rule remembers of a parameter, in the stored layout: its first or second moment.
  float* moment(int layer, int parameter, int which) const;

 private:
  struct Item {  // one parameter
    int layer = 0, parameter = 0;
    bool decays = true;  // by optimizer.weight_decay
    std::int64_t elements = 0;
    float* gradient = nullptr;
    float *first_moment = nullptr, *second_moment = nullptr, *delta = nullptr;
  };
  const Item& item(int layer, int parameter) const;
  struct Moment {  // of a training
    double lr = 0, gradient_scale = 1;
    std::int64_t step = 1;
  };
  UpdateRule rule(const Item& item, const Moment& now) const;
  UpdateArguments arguments(const Item& item, WeightStore& weights, double* sum) const;

  Stream& stream_;
  OptimizerConfig config_;
  DeltaRule delta_;
  bool keeps_up_delta_ = true;
  std::vector<Item> items_;
  std::vector<std::vector<void*>> gradients_;  // per layer
  std::vector<bool> done_;                     // per layer: fused into its backward
  std::vector<UpdateRule> fused_rules_;
  std::vector<UpdateArguments> fused_arguments_;
  FusedUpdate fused_;
};

}  // namespace pipetrain
