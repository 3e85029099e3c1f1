// What each layer takes while nothing slows its core down, and how much slower each part is now:
// learned from the busy times of parts, one window of steps at a time.
//
// A layer's time is its share, by estimated costs, of its part's time. Of all windows the shortest
// time counts, because what else a machine does only makes layers slower. A part that takes longer
// now than its layers did is on a slow or shared core, and so would be any layers that it gets.
#pragma once

#include <utility>
#include <vector>

namespace pipetrain {

// By layer, for a mini-batch, in any unit.
struct LayerEstimates {
  std::vector<double> costs;          // forwards and backwards
  std::vector<double> weight_halves;  // of these; 0 only if the layer does not train
  std::vector<double> updates;
};

// For a mini-batch, in milliseconds.
struct PartTimes {
  double ms = 0;       // all forwards and backwards
  double tail_ms = 0;  // after a gradient is sent: the weight half of the first layer that trains
  double update_ms = 0;
};

class MeasuredLayers {
 public:
  explicit MeasuredLayers(LayerEstimates estimates) : ms_(std::move(estimates)) {}

  // How long each part was busy per step, in milliseconds; `firsts` are the parts' first layers.
  void see(const std::vector<double>& busy_ms, const std::vector<int>& firsts);

  // What the parts would take if these were their first layers; known after the first see().
  std::vector<PartTimes> by_part(const std::vector<int>& firsts) const;
  // The most even cut.
  std::vector<int> balanced() const;
  int layers() const { return static_cast<int>(ms_.costs.size()); }

 private:
  void scale(const std::vector<int>& firsts, const std::vector<double>& factors);

  LayerEstimates ms_;  // milliseconds after the first see()
  bool seen_ = false;
  std::vector<double> slowness_;  // by part; 1: as fast as ever
};

}  // namespace pipetrain
