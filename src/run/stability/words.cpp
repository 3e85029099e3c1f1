#include "run/stability/words.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace pipetrain {
namespace {

// The stage with the longest delay.
std::size_t latest(const Stability& stability) {
  const auto found = std::ranges::max_element(stability.stages, {}, &StageStability::delay);
  return static_cast<std::size_t>(found - stability.stages.begin());
}

// Two digits, rounded down: the rate that is suggested must be stable.
double below(double rate) {
  const double digit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return std::floor(rate / digit) * digit;
}

}  // namespace

nlohmann::ordered_json stability_event(const Stability& s) {
  nlohmann::ordered_json event = {{"event", "stability"},     {"step", s.step},
                                  {"curvature", s.curvature}, {"curvature_change", s.change},
                                  {"lr_edge", s.lr_edge},     {"margin", s.margin},
                                  {"loss_rises", s.rising},   {"seconds", s.seconds}};
  for (const StageStability& stage : s.stages)
    event["stages"].push_back({{"delay", stage.delay},
                               {"lr", stage.lr},
                               {"lr_edge", stage.lr_edge},
                               {"share", stage.share}});
  return event;
}

std::string stability_text(const Stability& s) {
  const std::string limit =
      s.curvature > 0
          ? fmt::format("stable below a rate of {:.3g}, margin {:.2f}", s.lr_edge, s.margin)
          : "no direction found that limits the rate";
  return fmt::format("stability after step {}: curvature {:.3g}, {} ({:.2g} s)", s.step,
                     s.curvature, limit, s.seconds);
}

bool is_unstable(const Stability& s) { return s.margin < 1 && s.rising; }

std::string stability_warning(const Stability& s, std::int64_t step, const Config& config) {
  std::string text = fmt::format(
      "the loss has risen by step {}; {} the learning rate {} {:.2f} times the largest that is "
      "stable at this curvature ({:.3g})",
      step,
      step == s.step ? "there" : fmt::format("at the last measurement, after step {},", s.step),
      step == s.step ? "is" : "was", 1 / s.margin, s.lr_edge);
  const std::size_t stage = latest(s);
  const double delay = s.stages[stage].delay;
  if (delay > 0)
    text += fmt::format(", with gradients up to {:.3g} updates late (stage {})", delay, stage);
  text += fmt::format(
      ": this training is about to diverge; write optimizer.lr = {:.2g} or less, or set "
      "optimizer.max_norm",
      below(config.optimizer.lr * s.margin));
  if (delay > 0) text += ", or use fewer stages, or a schedule that drains at every update";
  return text;
}

}  // namespace pipetrain
