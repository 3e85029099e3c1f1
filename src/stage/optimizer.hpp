// The optimizer of one stage: its rule from the config, its moments in the stage's memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "compile/delta_rule.hpp"
#include "config/config.hpp"
#include "stage/layer_watch.hpp"
#include "stage/weight_store.hpp"

namespace pipetrain {

struct Graph;
struct Layer;

// How a parameter is updated.
struct UpdateTerms {
  double lr = 0;
  double gradient_scale = 1;  // clipping
  bool skip = false;          // nothing is updated: the next version equals the live one
};

// An update of a stage. `step` counts from 1 since training began. `sums`, if the norm was not
// needed before, receives the gradients' sums of squares: results (backend/stream.hpp).
struct StageUpdate {
  UpdateTerms own;                         // for what the stage shares with no other layer
  std::span<const UpdateTerms> tied = {};  // for each tied parameter of the model, in their order
  std::int64_t step = 1;
  std::span<double> sums = {};
};

// Which of a stage's parameters other layers use too (tied_groups), in parameter order.
struct StageTies {
  std::vector<int> group;    // -1: its own
  std::vector<bool> counts;  // in the model's norm: only the first of several uses does
  std::vector<bool> layer;   // per layer: has such a parameter
};
StageTies stage_ties(const Graph& graph, LayerId first, LayerId last);

// Accumulated gradients, moments and delta of one stage's parameters. Used by one worker.
class StageOptimizer {
 public:
  StageOptimizer(Stream& stream, const OptimizerConfig& config, const DeltaRule& delta,
                 const WeightStore& weights, std::span<const Layer> layers, const StageTies& ties,
                 StageMemory& memory);

  // Gradient accumulators of one layer, in the stored layout, for BackwardWeightArguments.
  std::span<void* const> gradients(int layer) const { return gradients_[layer]; }
  // The same for one parameter, in parameter order; empty if its layer is not trained.
  std::span<float> gradient(int parameter) const;
  // The sum of squares of each parameter's gradient, in parameter order: results
  // (backend/stream.hpp). `Own`: nothing is written for tied parameters.
  enum class Sums { All, Own };
  void sums_of_squares(std::span<double> sums, Sums which) const;
  // Writes the next version; the caller advances. The sums of squares are those that count in the
  // model's norm.
  void apply(WeightStore& weights, const StageUpdate& update, LayerWatch* watch = nullptr);

  // The same for one layer, to be done by its kernel. Null if the rule is not sgd, if delta is kept
  // up, if another layer uses one of its parameters, if one of them is not trained, or if it was
  // asked for since the last apply(), which leaves the layer out. Valid until the next call.
  const FusedUpdate* fused(WeightStore& weights, int layer, double lr, std::int64_t step,
                           std::span<double> sums);

  // false: delta stays unchanged, as if there were none (PipeMare's synchronous epochs).
  void keep_up_delta(bool on) { keeps_up_delta_ = on; }
  // Null if the rule keeps none.
  float* delta(int layer, int parameter) const;
  int parameters() const { return static_cast<int>(items_.size()); }
  // What the rule remembers about a parameter, in the stored layout: its first or second moment.
  float* moment(int layer, int parameter, int which) const;

 private:
  struct Item {  // one parameter
    int layer = 0, parameter = 0;
    bool decays = true;   // optimizer.weight_decay applies
    bool trained = true;  // false: it keeps its value
    double lr_factor = 1;
    std::int64_t elements = 0;
    float* gradient = nullptr;
    float *first_moment = nullptr, *second_moment = nullptr, *delta = nullptr;
  };
  const Item& item(int layer, int parameter) const;
  void skip(const Item& item, WeightStore& weights) const;
  void keep(const Item& item, WeightStore& weights) const;
  struct Moment {  // in a training
    double lr = 0, gradient_scale = 1;
    std::int64_t step = 1;
  };
  UpdateRule rule(const Item& item, const Moment& now) const;
  UpdateArguments arguments(const Item& item, WeightStore& weights, double* sum) const;

  Stream& stream_;
  OptimizerConfig config_;
  DeltaRule delta_;
  StageTies ties_;
  bool keeps_up_delta_ = true;
  std::vector<Item> items_;
  std::vector<std::vector<void*>> gradients_;  // per layer
  std::vector<bool> done_;                     // per layer: fused into its backward
  std::vector<bool> whole_;                    // per layer: all of its parameters are trained
  std::vector<UpdateRule> fused_rules_;
  std::vector<UpdateArguments> fused_arguments_;
  FusedUpdate fused_;
};

}  // namespace pipetrain
