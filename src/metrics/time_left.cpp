#include "metrics/time_left.hpp"

#include <numeric>

namespace pipetrain {
namespace {

double mean(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

void TimeLeft::step(double seconds) {
  step_seconds_ += seconds;
  ++steps_;
}

void TimeLeft::validation(double seconds, std::int64_t left) {
  validation_seconds_ += seconds;
  ++validations_;
  validations_left_ = left;
}

double TimeLeft::seconds(std::int64_t steps_left) const {
  return mean(step_seconds_, steps_) * static_cast<double>(steps_left) +
         mean(validation_seconds_, validations_) * static_cast<double>(validations_left_);
}

std::int64_t validations_after(const ValidationConfig& rule, std::int64_t steps,
                               std::int64_t steps_per_epoch, std::int64_t step) {
  const std::int64_t a = rule.every_steps, b = rule.every_epochs * steps_per_epoch;
  if ((a == 0 && b == 0) || step >= steps) return 0;
  const bool both = a > 0 && b > 0 && a / std::gcd(a, b) <= steps / b;  // coincide before the end
  // Multiples after `step` and before the end; the end has one validation in any case.
  const auto multiples = [&](std::int64_t every) {
    return every > 0 ? (steps - 1) / every - step / every : 0;
  };
  return multiples(a) + multiples(b) - multiples(both ? std::lcm(a, b) : 0) + 1;
}

}  // namespace pipetrain
