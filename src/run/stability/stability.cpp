#include "run/stability/stability.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/rng.hpp"
#include "compile/segment_program.hpp"
#include "graph/graph.hpp"
#include "machine/threads.hpp"
#include "program/gradient_delay.hpp"
#include "run/stability/edge.hpp"

namespace pipetrain {
namespace {

// How far from the weights gradients are taken, on both sides, relative to the weights' length.
constexpr double kDistance = 1e-3;

// Between the mean losses of two intervals, and of one loss over the highest so far: differences
// between mini-batches alone stay below it.
constexpr double kRise = 2;

StageId stage_of(const StabilityInput& in, const TrainedParameter& parameter) {
  return pipetrain::stage_of(in.pipeline.input().plan, parameter.layer);
}

Momentum momentum_of(const OptimizerConfig& optimizer) {
  return {optimizer.momentum, optimizer.nesterov};
}

}  // namespace

void LossTrend::see(double loss) {
  if (!before_) before_ = highest_ = loss;
  sum_ += loss;
  ++steps_;
}

bool LossTrend::end_interval(bool stable) {
  if (steps_ == 0) return false;
  const double mean = std::exchange(sum_, 0) / static_cast<double>(std::exchange(steps_, 0));
  if (stable) highest_ = std::max(highest_, mean);
  return !(mean <= kRise * *std::exchange(before_, mean));
}

bool LossTrend::leaps(double loss) const { return before_ && !(loss <= kRise * highest_); }

const Stability* StabilityMeter::see(double loss) {
  const bool leaps = trend_.leaps(loss);
  trend_.see(loss);
  if (!leaps || !watched_ || warned_) return nullptr;
  warned_ = true;
  return &*watched_;
}

StabilityMeter::StabilityMeter(const StabilityInput& input)
    : in_(input),
      config_(input.pipeline.input().config),
      learning_rate_(learning_rate_of(config_, input.pipeline.input().total_steps,
                                      input.pipeline.input().steps_per_epoch,
                                      input.pipeline.program())),
      parameters_(trained_parameters(input.pipeline.input().graph)),
      delays_(gradient_delays(input.pipeline.program())) {}

// The Hessian times rate^(1/2) direction, times rate^(1/2), with rates relative to the common one:
// for stages and parameters with different rates, this has the curvature that the common rate
// meets.
std::optional<Direction> StabilityMeter::hessian_times(GradientProbe& probe,
                                                       const std::vector<double>& scale,
                                                       const Direction& direction) const {
  std::vector<double> moved(direction.size());
  double length = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i] = scale[i] * direction[i];
    length += moved[i] * moved[i];
  }
  const double weights = probe.weights_length();
  const double distance = kDistance * (weights > 0 ? weights : 1) / std::sqrt(length);
  for (double& value : moved) value *= distance;
  const auto ahead = probe.gradient_at(moved);
  for (double& value : moved) value = -value;
  const auto behind = probe.gradient_at(moved);
  if (!ahead || !behind) return std::nullopt;
  Direction product(direction.size());
  for (std::size_t i = 0; i < product.size(); ++i)
    product[i] = static_cast<float>(scale[i] * (static_cast<double>((*ahead)[i]) - (*behind)[i]) /
                                    (2 * distance));
  return product;
}

Direction StabilityMeter::first_direction(std::size_t size) const {
  Random random(config_.training.seed, "stability");
  Direction direction(size);
  for (float& value : direction) value = static_cast<float>(random.normal());
  return direction;
}

std::vector<double> StabilityMeter::scale(std::int64_t step) const {
  std::vector<double> scale;
  const double common = learning_rate_.at(step);
  for (const TrainedParameter& parameter : parameters_) {
    const double rate = learning_rate_.at(step, stage_of(in_, parameter)) * parameter.lr_factor;
    scale.resize(parameter.end, common > 0 ? std::sqrt(rate / common) : 1);
  }
  return scale;
}

std::optional<Stability> StabilityMeter::measure(std::int64_t step) {
  const auto begin = std::chrono::steady_clock::now();
  const bool rising = trend_.end_interval(!watched_);
  const KernelThreads as_before(kernel_threads());
  const PipelineInput& of = in_.pipeline.input();
  GradientProbe probe({of.graph, of.config, of.backend, in_.train, of.sizes, of.steps_per_epoch},
                      in_.pipeline.parameters(), step);
  const std::vector<double> scale = this->scale(step);
  auto found = largest_curvature(
      [&](const Direction& direction) { return hessian_times(probe, scale, direction); },
      last_.empty() ? first_direction(probe.size()) : last_, config_.stability.iterations);
  if (!found) return std::nullopt;
  Stability result = judged(*found, step);
  result.rising = rising;
  watched_ = result.margin < 1 ? std::optional(result) : std::nullopt;
  warned_ = rising;  // by the caller, which reports this measurement
  last_ = std::move(found->direction);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  result.seconds = took.count();
  return result;
}

Stability StabilityMeter::judged(const Curvature& found, std::int64_t step) const {
  Stability result{.step = step, .curvature = found.value, .change = found.change, .stages = {}};
  const double curvature = std::max(found.value, 0.0);  // 0: any rate is stable
  const double common = learning_rate_.at(step);
  const Momentum momentum = momentum_of(config_.optimizer);
  const bool late = step >= warmup_steps(config_, in_.pipeline.input().steps_per_epoch);
  std::vector<DelayedShare> shares;
  for (StageId s{0}; s.value < std::ssize(delays_); ++s.value) {
    const double delay = late ? delays_[s] : 0;
    shares.push_back({.share = 0, .delay = delay});
    const double lr = learning_rate_.at(step, s);
    const double alone = stable_rate({{.share = 1, .delay = delay}}, momentum);
    result.stages.push_back(
        {.delay = delay, .lr = lr, .lr_edge = (common > 0 ? lr / common : 1) * alone / curvature});
  }
  for (const TrainedParameter& parameter : parameters_) {
    double& share = shares[position_of(stage_of(in_, parameter))].share;
    for (std::size_t i = parameter.begin; i < parameter.end; ++i)
      share += static_cast<double>(found.direction[i]) * found.direction[i];
  }
  for (std::size_t s = 0; s < shares.size(); ++s) result.stages[s].share = shares[s].share;
  result.lr_edge = stable_rate(shares, momentum) / curvature;
  result.margin = result.lr_edge / common;
  return result;
}

}  // namespace pipetrain
