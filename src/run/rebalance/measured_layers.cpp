#include "run/rebalance/measured_layers.hpp"

#include <algorithm>

#include "plan/search/splits.hpp"

namespace pipetrain {
namespace {

// Calls `visit` with each part and each of its layers.
template <class Visit>
void for_each_layer(const Firsts& firsts, std::size_t layers, Visit visit) {
  for (std::size_t p = 0; p < firsts.size(); ++p) {
    const std::size_t end =
        p + 1 < firsts.size() ? static_cast<std::size_t>(firsts[p + 1]) : layers;
    for (auto l = static_cast<std::size_t>(firsts[p]); l < end; ++l) visit(p, l);
  }
}

// A part's first layer that trains sends the gradient before it does its weight half.
std::vector<PartTimes> sums(const LayerEstimates& layers, const Firsts& firsts) {
  std::vector<PartTimes> parts(firsts.size());
  for_each_layer(firsts, layers.costs.size(), [&](std::size_t p, std::size_t l) {
    parts[p].ms += layers.costs[l];
    if (parts[p].tail_ms == 0) parts[p].tail_ms = layers.weight_halves[l];
    parts[p].update_ms += layers.updates[l];
  });
  return parts;
}

}  // namespace

void MeasuredLayers::see(const std::vector<double>& busy_ms, const Firsts& firsts) {
  std::vector<double> ratios;  // of the time now to that of the layers as they are known
  const std::vector<PartTimes> parts = sums(ms_, firsts);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const double known = parts[p].ms + parts[p].update_ms;
    ratios.push_back(known > 0 ? busy_ms[p] / known : 1);
  }
  slowness_.clear();
  for (double& ratio : ratios) {
    slowness_.push_back(seen_ ? std::max(1.0, ratio) : 1);
    if (seen_) ratio = std::min(1.0, ratio);
  }
  scale(firsts, ratios);
  seen_ = true;
}

void MeasuredLayers::scale(const Firsts& firsts, const std::vector<double>& factors) {
  for_each_layer(firsts, ms_.costs.size(), [&](std::size_t p, std::size_t l) {
    ms_.costs[l] *= factors[p];
    ms_.weight_halves[l] *= factors[p];
    ms_.updates[l] *= factors[p];
  });
}

std::vector<PartTimes> MeasuredLayers::by_part(const Firsts& firsts) const {
  std::vector<PartTimes> parts = sums(ms_, firsts);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    parts[p].ms *= slowness_[p];
    parts[p].tail_ms *= slowness_[p];
    parts[p].update_ms *= slowness_[p];
  }
  return parts;
}

Firsts MeasuredLayers::balanced() const {
  LayerChain chain;
  for (const double ms : ms_.costs) {
    chain.layers.push_back({});
    chain.layers.back().forward_ms = ms;
  }
  std::vector<double> speeds;
  for (const double slow : slowness_) speeds.push_back(1 / slow);
  return balanced_firsts({chain, speeds});
}

}  // namespace pipetrain
