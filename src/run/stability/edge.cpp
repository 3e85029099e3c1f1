#include "run/stability/edge.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace pipetrain {
namespace {

using Complex = std::complex<double>;

constexpr double kNone = std::numeric_limits<double>::infinity();

// The rate at which x = exp(i angle) is a root; only a real, positive value is a rate.
class RateAt {
 public:
  RateAt(const std::vector<DelayedShare>& shares, const Momentum& momentum)
      : shares_(shares), momentum_(momentum) {}

  Complex operator()(double angle) const {
    const Complex back = std::polar(1.0, -angle);
    Complex late = 0;
    for (const DelayedShare& s : shares_) late += s.share * std::polar(1.0, -angle * s.delay);
    const double b = momentum_.factor;
    const Complex kept = 1.0 - b * back;
    const Complex pushed = momentum_.nesterov ? kept + b : Complex(1);
    return (1.0 - std::conj(back)) * kept / (late * pushed);
  }

 private:
  const std::vector<DelayedShare>& shares_;
  const Momentum momentum_;
};

// The rate, if it is real and positive; otherwise, for instance where all shares cancel, kNone.
double real_rate(Complex rate) {
  const bool is_real = std::abs(rate.imag()) < 1e-6 * std::abs(rate.real());
  return is_real && rate.real() > 0 ? rate.real() : kNone;
}

// The rate on the real axis between two angles whose rates are on different sides of it.
double crossing(const RateAt& rate, double low, double high) {
  const bool rises = rate(low).imag() < 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    ((rate(middle).imag() < 0) == rises ? low : high) = middle;
  }
  return real_rate(rate(high));
}

}  // namespace

double stable_rate(const std::vector<DelayedShare>& shares, const Momentum& momentum) {
  double longest = 0;
  for (const DelayedShare& s : shares) longest = std::max(longest, s.delay);
  const RateAt rate(shares, momentum);
  const double end = std::numbers::pi;
  const int parts = 256 * static_cast<int>(std::ceil(longest) + 2);
  double best = real_rate(rate(end));
  double before = end / parts / 2;
  for (int p = 1; p < parts; ++p) {
    const double angle = end * p / parts;
    if ((rate(before).imag() < 0) != (rate(angle).imag() < 0))
      best = std::min(best, crossing(rate, before, angle));
    before = angle;
  }
  return best;
}

}  // namespace pipetrain
