#include "run/course.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pipetrain {
namespace {

constexpr std::size_t kRecent = 10;  // steps
constexpr double kBlownUp = 50;      // times the first loss
constexpr double kBelow = 0.95;      // of chance: something was learnt
constexpr double kAtChance = 0.98;   // of chance: nothing of that is left
constexpr int kShort = 500;          // steps in which a training need not have left chance
constexpr const char* kWayOut = "lower optimizer.lr, or set optimizer.max_norm";

}  // namespace

void Course::see(const StepSummary& step) {
  if (!std::isfinite(step.loss)) {  // under on_nonfinite = "skip"
    ++lost_;
    return;
  }
  lost_ = 0;
  ++steps_;
  if (!first_) first_ = step.loss;
  recent_.push_back(step.loss);
  if (recent_.size() > kRecent) recent_.pop_front();
  if (recent_.size() == kRecent) lowest_ = std::min(lowest_.value_or(recent_mean()), recent_mean());
}

double Course::recent_mean() const {
  return std::accumulate(recent_.begin(), recent_.end(), 0.0) / static_cast<double>(recent_.size());
}

std::optional<std::string> Course::warning() const {
  if (lost_ >= static_cast<std::int64_t>(kRecent))
    return fmt::format("the losses of the last {} steps are not finite: this training diverged; {}",
                       lost_, kWayOut);
  if (recent_.empty()) return std::nullopt;
  const double now = recent_mean();
  if (*first_ > 0 && now >= kBlownUp * *first_)
    return fmt::format(
        "the loss ended at {:.4g}, {:.0f} times that of the first step ({:.4g}): this training "
        "did not converge; {}",
        now, now / *first_, *first_, kWayOut);
  const double chance = classes_ > 1 ? std::log(classes_) : 0;
  if (chance == 0 || now < kAtChance * chance) return std::nullopt;
  if (lowest_ && *lowest_ <= kBelow * chance)
    return fmt::format(
        "the loss ended at {:.4g}, which is chance among {} classes (ln {} = {:.4g}), after it had "
        "been {:.4g}: what was learnt is lost; {}",
        now, classes_, classes_, chance, *lowest_, kWayOut);
  if (steps_ < kShort) return std::nullopt;
  return fmt::format(
      "the loss ended at {:.4g} after {} steps, and never was clearly below chance among {} "
      "classes "
      "(ln {} = {:.4g}): nothing was learnt; change optimizer.lr, or train for longer",
      now, steps_, classes_, classes_, chance);
}

}  // namespace pipetrain
