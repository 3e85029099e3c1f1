// Times what a stage asks of its stream for each layer, step by step of training, and gives the
// medians. A device finishes each piece of work before the next one begins.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plan/profile.hpp"
#include "stage/layer_watch.hpp"

namespace pipetrain {

// Threading: begin and end by the stage's worker; everything else once it has stopped.
class LayerClock : public LayerWatch {
 public:
  explicit LayerClock(int layers);

  void begin(LayerWork work, int layer) override;
  void end(Stream& stream) override;

  // A mini-batch is over: what was timed since the last one counts as one measurement. The first
  // `warm_up` are dropped by forget().
  void end_step();
  void forget() { steps_.clear(); }
  std::size_t steps() const { return steps_.size(); }
  // Of one micro-batch; each step had `microbatches` of them.
  std::vector<LayerTimes> medians(int microbatches) const;

 private:
  static constexpr int works = 6;
  struct Sums {  // of one layer in one step
    std::array<std::int64_t, works> ns{};
    std::array<int, works> count{};
  };
  using StepSums = std::vector<Sums>;
  double each(const Sums& sums, LayerWork work, int microbatches) const;

  StepSums step_;
  std::vector<StepSums> steps_;
  Sums* open_ = nullptr;
  std::size_t open_work_ = 0;
  std::int64_t begin_ns_ = 0;
};

}  // namespace pipetrain
