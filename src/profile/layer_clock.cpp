#include "profile/layer_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/median.hpp"

namespace pipetrain {
namespace {

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle > 0 ? (quantile(values, 0.9) - quantile(values, 0.1)) / 2 / middle : 0;
}

}  // namespace

LayerClock::LayerClock(int layers) : step_(layers) {}

void LayerClock::begin(LayerWork work, int layer) {
  open_ = &step_[layer];
  open_work_ = static_cast<std::size_t>(work);
  begin_ns_ = now_ns();
}

void LayerClock::end(Stream& stream) {
  if (stream.asynchronous()) stream.finish();
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
    const auto of = [&](LayerWork work) { return median(times[static_cast<std::size_t>(work)]); };
    const double weight = of(LayerWork::BackwardWeight), fused = of(LayerWork::WeightUpdate);
    layers.push_back({.forward_ms = of(LayerWork::Forward),
                      .backward_input_ms = of(LayerWork::BackwardInput),
                      .backward_weight_ms = weight,
                      .update_ms = of(LayerWork::Update),
                      .fused_update_ms = fused > 0 ? std::max(0.0, fused - weight) : 0,
                      .spread = spread(all)});
  }
  return layers;
}

}  // namespace pipetrain
