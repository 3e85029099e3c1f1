// Times the work that a stage asks of its stream for each layer while it trains, and gives medians
// over several lots of steps, or the shortest times of all. A device finishes each piece of work
// before the next one begins.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plan/profile.hpp"
#include "stage/layer_watch.hpp"

namespace pipetrain {

// Threading: the stage's worker calls begin and end; everything else is called once it has stopped.
class LayerClock : public LayerWatch {
 public:
  explicit LayerClock(int layers);

  void begin(LayerWork work, int layer) override;
  void end(Stream& stream) override;

  // Ends a lot: what was timed since the last one counts as one measurement of `steps`
  // mini-batches, each with `microbatches`.
  void end_lot(int steps, int microbatches);
  void forget() { lots_.clear(); }
  // For one micro-batch.
  std::vector<LayerTimes> medians() const { return times(0.5); }
  // Each work in the lot in which it was fastest. What else the machine does is left out as far as
  // it pauses, so differences between two ways to train the same layers are best seen here.
  std::vector<LayerTimes> fastest() const { return times(0); }
  double median_ms(LayerWork work) const;    // of one micro-batch, all layers together
  double watched_ms(std::size_t lot) const;  // for one mini-batch, whatever was timed

 private:
  static constexpr int works = 11;
  struct Sums {  // for one layer in one lot
    std::array<std::int64_t, works> ns{};
    std::array<int, works> count{};
  };
  struct Lot {
    std::vector<Sums> layers;
    int steps = 1, microbatches = 1;
  };
  static double each(const Lot& lot, const Sums& sums, LayerWork work);
  std::vector<LayerTimes> times(double quantile_of_lots) const;

  std::vector<Sums> now_;
  std::vector<Lot> lots_;
  Sums* open_ = nullptr;
  std::size_t open_work_ = 0;
  std::int64_t begin_ns_ = 0;
};

}  // namespace pipetrain
