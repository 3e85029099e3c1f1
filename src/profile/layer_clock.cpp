#include "profile/layer_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace pipetrain {
namespace {

// Of the sorted values, the one at that share.
double at_share(std::vector<double>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

double median_of(std::vector<double> values) { return values.empty() ? 0 : at_share(values, 0.5); }

double spread_of(std::vector<double> values) {
  const double middle = median_of(values);
  if (middle <= 0) return 0;
  const double low = at_share(values, 0.1), high = at_share(values, 0.9);
  return (high - low) / 2 / middle;
}

}  // namespace

LayerClock::LayerClock(int layers, Stream* device) : device_(device), step_(layers) {}

void LayerClock::begin(LayerWork work, int layer) {
  open_ = &step_[layer];
  open_work_ = static_cast<std::size_t>(work);
  begin_ns_ = now_ns();
}

void LayerClock::end() {
  if (device_) device_->finish();
  open_->ns[open_work_] += now_ns() - begin_ns_;
  ++open_->count[open_work_];
}

void LayerClock::end_step() { steps_.push_back(std::exchange(step_, StepSums(step_.size()))); }

// In milliseconds, per micro-batch where all have that work, else per call.
double LayerClock::each(const Sums& sums, LayerWork work, int microbatches) const {
  const auto w = static_cast<std::size_t>(work);
  const bool of_all = work == LayerWork::Forward || work == LayerWork::BackwardInput;
  const int count = of_all ? microbatches : std::max(sums.count[w], 1);
  return static_cast<double>(sums.ns[w]) * 1e-6 / count;
}

std::vector<LayerTimes> LayerClock::medians(int microbatches) const {
  std::vector<LayerTimes> layers;
  for (std::size_t l = 0; l < step_.size(); ++l) {
    std::array<std::vector<double>, works> times;
    std::vector<double> all;
    for (const StepSums& step : steps_) {
      double sum = 0;
      for (std::size_t w = 0; w < works; ++w) {
        times[w].push_back(each(step[l], static_cast<LayerWork>(w), microbatches));
        sum += static_cast<double>(step[l].ns[w]);
      }
      all.push_back(sum);
    }
    const auto of = [&](LayerWork work) {
      return median_of(times[static_cast<std::size_t>(work)]);
    };
    const double weight = of(LayerWork::BackwardWeight), fused = of(LayerWork::WeightUpdate);
    layers.push_back({.forward_ms = of(LayerWork::Forward),
                      .backward_input_ms = of(LayerWork::BackwardInput),
                      .backward_weight_ms = weight,
                      .update_ms = of(LayerWork::Update),
                      .fused_update_ms = fused > 0 ? std::max(0.0, fused - weight) : 0,
                      .spread = spread_of(all)});
  }
  return layers;
}

}  // namespace pipetrain
