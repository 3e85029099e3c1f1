#include "run/rebalance/rebalancer.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "graph/graph.hpp"
#include "plan/search/splits.hpp"

namespace pipetrain {
namespace {

constexpr double least_gain = 0.03;               // of a step's time, for a move to be worth making
constexpr double kept_gain = 0.01;                // of a step's time, for a move to be kept
constexpr int first_hold = 4, longest_hold = 64;  // windows

using Layers = std::vector<double>;

// A part's first layer that trains sends the gradient before it does its weight half.
std::vector<PartTimes> by_part(const Layers& layers, const Layers& weight_halves,
                               const Firsts& firsts) {
  std::vector<PartTimes> parts;
  for (std::size_t p = 0; p < firsts.size(); ++p) {
    const std::size_t end =
        p + 1 < firsts.size() ? static_cast<std::size_t>(firsts[p + 1]) : layers.size();
    PartTimes part;
    for (auto l = static_cast<std::size_t>(firsts[p]); l < end; ++l) {
      part.ms += layers[l];
      if (part.tail_ms == 0) part.tail_ms = weight_halves[l];
    }
    parts.push_back(part);
  }
  return parts;
}

Layers scaled(const Layers& costs, const std::vector<double>& scales, const Firsts& firsts) {
  Layers result = costs;
  std::size_t part = 0;
  for (std::size_t l = 0; l < result.size(); ++l) {
    if (part + 1 < firsts.size() && static_cast<int>(l) == firsts[part + 1]) ++part;
    result[l] *= scales[part];
  }
  return result;
}

Firsts balanced(const Layers& layer_ms, std::size_t parts) {
  LayerChain chain;
  for (const double ms : layer_ms) {
    chain.layers.push_back({});
    chain.layers.back().forward_ms = ms;
  }
  return balanced_firsts({chain, std::vector<double>(parts, 1.0)});
}

}  // namespace

Rebalancer::Rebalancer(RebalancerInput input) : in_(std::move(input)), firsts_(in_.firsts) {}

std::optional<Move> Rebalancer::decide(const MeasuredSteps& window) {
  for (Held& held : held_) held.windows_left = std::max(0, held.windows_left - 1);
  if (auto back = judge(window)) return back;
  return propose(window);
}

std::optional<Move> Rebalancer::judge(const MeasuredSteps& window) {
  if (!judged_) return std::nullopt;
  const Judged last = *std::exchange(judged_, std::nullopt);
  if (window.step_ms <= (1 - kept_gain) * last.step_ms) return std::nullopt;
  hold(firsts_);
  return Move{.firsts = last.before,
              .measured_ms = window.step_ms,
              .predicted_ms = last.step_ms,
              .back = true,
              .why = fmt::format("{:.3g} ms a step, no less than the {:.3g} before the move",
                                 window.step_ms, last.step_ms)};
}

// Milliseconds per unit of cost, for each part.
std::vector<double> Rebalancer::scales(const MeasuredSteps& window) const {
  const auto parts = by_part(in_.layer_costs, in_.weight_halves, firsts_);
  std::vector<double> scales;
  for (std::size_t p = 0; p < parts.size(); ++p)
    scales.push_back(parts[p].ms > 0 ? window.part_ms[p] / parts[p].ms : 0);
  return scales;
}

std::optional<Move> Rebalancer::propose(const MeasuredSteps& window) const {
  const std::vector<double> part_scales = scales(window);
  const Layers layers = scaled(in_.layer_costs, part_scales, firsts_),
               halves = scaled(in_.weight_halves, part_scales, firsts_);
  const auto step_ms = [&](const Firsts& firsts) {
    return in_.step_ms(by_part(layers, halves, firsts));
  };
  const double now = step_ms(firsts_);
  const auto [firsts, then] =
      best_firsts(balanced(layers, firsts_.size()), static_cast<int>(layers.size()), step_ms);
  if (firsts == firsts_ || is_held(firsts)) return std::nullopt;
  const double share = now > 0 ? 1 - then / now : 0;
  const double gain_ms = share * window.step_ms * static_cast<double>(in_.steps - window.step);
  if (share < least_gain || gain_ms <= cost_ms_) return std::nullopt;
  return Move{.firsts = firsts,
              .measured_ms = window.step_ms,
              .predicted_ms = (1 - share) * window.step_ms,
              .why = fmt::format("{:.3g} ms a step, {:.3g} predicted", window.step_ms,
                                 (1 - share) * window.step_ms)};
}

void Rebalancer::moved(const Move& move, double cost_ms) {
  cost_ms_ = cost_ms;
  if (!move.back) judged_ = {.before = firsts_, .step_ms = move.measured_ms};
  firsts_ = move.firsts;
}

void Rebalancer::refused(const Move& move) { hold(move.firsts); }

void Rebalancer::hold(const std::vector<int>& firsts) {
  const auto held = std::ranges::find(held_, firsts, &Held::firsts);
  if (held == held_.end()) {
    held_.push_back({firsts, first_hold, 2 * first_hold});
    return;
  }
  held->windows_left = held->next;
  held->next = std::min(2 * held->next, longest_hold);
}

bool Rebalancer::is_held(const std::vector<int>& firsts) const {
  const auto held = std::ranges::find(held_, firsts, &Held::firsts);
  return held != held_.end() && held->windows_left > 0;
}

}  // namespace pipetrain
