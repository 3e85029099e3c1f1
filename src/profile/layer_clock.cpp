#include "profile/layer_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/median.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle > 0 ? (quantile(values, 0.9) - quantile(values, 0.1)) / 2 / middle : 0;
}

}  // namespace

LayerClock::LayerClock(int layers) : now_(layers) {}

void LayerClock::begin(LayerWork work, int layer) {
  PIPETRAIN_CHECK(layer >= 0 && layer < std::ssize(now_), "layer {} of a stage of {}", layer,
                  now_.size());
  open_ = &now_[layer];
  open_work_ = static_cast<std::size_t>(work);
  begin_ns_ = now_ns();
}

void LayerClock::end(Stream& stream) {
  if (stream.asynchronous()) stream.finish();
  open_->ns[open_work_] += now_ns() - begin_ns_;
  ++open_->count[open_work_];
}

void LayerClock::end_lot(int steps, int microbatches) {
  lots_.push_back({std::exchange(now_, std::vector<Sums>(now_.size())), steps, microbatches});
}

// In milliseconds: an update and what follows it per mini-batch; a weight gradient per call,
// because the first and the last of a mini-batch differ from the others; the rest per micro-batch.
double LayerClock::each(const Lot& lot, const Sums& sums, LayerWork work) {
  const auto w = static_cast<std::size_t>(work);
  const double ms = static_cast<double>(sums.ns[w]) * 1e-6;
  if (work == LayerWork::Update || work == LayerWork::Pack) return ms / lot.steps;
  if (work == LayerWork::FirstWeight || work == LayerWork::BackwardWeight ||
      work == LayerWork::WeightUpdate)
    return ms / std::max(sums.count[w], 1);
  return ms / (lot.steps * lot.microbatches);
}

double LayerClock::watched_ms(std::size_t lot) const {
  std::int64_t ns = 0;
  for (const Sums& sums : lots_[lot].layers)
    for (const std::int64_t each : sums.ns) ns += each;
  return static_cast<double>(ns) * 1e-6 / lots_[lot].steps;
}

double LayerClock::median_ms(LayerWork work) const {
  std::vector<double> times;
  for (const Lot& lot : lots_) {
    double sum = 0;
    for (const Sums& sums : lot.layers) sum += each(lot, sums, work);
    times.push_back(sum);
  }
  return median(times);
}

std::vector<LayerTimes> LayerClock::times(double quantile_of_lots) const {
  std::vector<LayerTimes> layers;
  for (std::size_t l = 0; l < now_.size(); ++l) {
    std::array<std::vector<double>, works> times;
    std::vector<double> all;
    for (const Lot& lot : lots_) {
      double sum = 0;
      for (std::size_t w = 0; w < works; ++w) {
        times[w].push_back(each(lot, lot.layers[l], static_cast<LayerWork>(w)));
        sum += static_cast<double>(lot.layers[l].ns[w]) / lot.steps;
      }
      all.push_back(sum);
    }
    const auto of = [&](LayerWork work) {
      return quantile(times[static_cast<std::size_t>(work)], quantile_of_lots);
    };
    const double first = of(LayerWork::FirstWeight), added = of(LayerWork::BackwardWeight),
                 fused = of(LayerWork::WeightUpdate);
    // Of two micro-batches the second may have the update in it, so that none is only added.
    const double weight = added > 0 ? added : first;
    layers.push_back({.forward_ms = of(LayerWork::Forward) + of(LayerWork::Copy),
                      .backward_input_ms = of(LayerWork::BackwardInput),
                      .first_weight_ms = first,
                      .backward_weight_ms = weight,
                      .update_ms = of(LayerWork::Update),
                      .pack_ms = of(LayerWork::Pack),
                      .fused_update_ms = fused > 0 ? std::max(0.0, fused - weight) : 0,
                      .spread = spread(all)});
  }
  return layers;
}

}  // namespace pipetrain
