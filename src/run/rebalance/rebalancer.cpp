#include "run/rebalance/rebalancer.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "plan/search/splits.hpp"

namespace pipetrain {
namespace {

constexpr double least_gain = 0.03;               // of a step's time, for a move to be worth making
constexpr double kept_gain = 0.01;                // of a step's time, for a move to be kept
constexpr int first_hold = 4, longest_hold = 64;  // windows

}  // namespace

Rebalancer::Rebalancer(RebalancerInput input)
    : in_(std::move(input)), layers_(in_.layers), firsts_(in_.firsts) {}

std::optional<Move> Rebalancer::decide(const MeasuredSteps& window) {
  for (Held& held : held_) held.windows_left = std::max(0, held.windows_left - 1);
  layers_.see(window.part_ms, firsts_);
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

std::optional<Move> Rebalancer::propose(const MeasuredSteps& window) const {
  const auto step_ms = [&](const Firsts& firsts) { return in_.step_ms(layers_.by_part(firsts)); };
  const double now = step_ms(firsts_);
  const auto [firsts, then] = best_firsts(layers_.balanced(), layers_.layers(), step_ms);
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
