// The largest stable rate: against its closed form, numbers computed by other means, and the
// recurrence itself.
#include "run/stability/edge.hpp"

#include <cmath>
#include <deque>
#include <numbers>

#include "catch.hpp"

using namespace pipetrain;

namespace {

double closed_form(double delay) { return 2 * std::sin(std::numbers::pi / (4 * delay + 2)); }

// A weight of each share's root, all with one gradient direction of curvature 1, after some steps;
// or as soon as it has grown a millionfold.
double after(const std::vector<DelayedShare>& shares, const Momentum& momentum, double rate,
             int steps) {
  std::vector<std::deque<double>> past(shares.size());  // the newest first
  std::vector<double> velocity(shares.size(), 0);
  for (auto& weights : past) weights.assign(64, 1);
  for (int t = 0; t < steps; ++t) {
    double along = 0;
    for (std::size_t s = 0; s < shares.size(); ++s)
      along += std::sqrt(shares[s].share) * past[s][static_cast<std::size_t>(shares[s].delay)];
    for (std::size_t s = 0; s < shares.size(); ++s) {
      const double g = std::sqrt(shares[s].share) * along;
      velocity[s] = momentum.factor * velocity[s] + g;
      const double move = momentum.nesterov ? g + momentum.factor * velocity[s] : velocity[s];
      past[s].push_front(past[s].front() - rate * move);
      past[s].pop_back();
    }
    if (std::abs(along) > 1e6) return std::abs(along);
  }
  double along = 0;
  for (std::size_t s = 0; s < shares.size(); ++s) along += std::sqrt(shares[s].share) * past[s][0];
  return std::abs(along);
}

}  // namespace

TEST_CASE("one delay has the edge of its closed form", "[stability]") {
  for (const double delay : {0.0, 1.0, 2.0, 3.0, 7.0, 15.0, 31.0, 100.0, 1.5}) {
    INFO("delay " << delay);
    CHECK(stable_rate({{1, delay}}) == Approx(closed_form(delay)).epsilon(1e-9));
  }
}

TEST_CASE("momentum lowers the edge as its characteristic polynomial says", "[stability]") {
  const std::vector<std::vector<double>> table = {// delay; momentum 0.5; 0.9
                                                  {1, 0.500000, 0.100000},
                                                  {3, 0.199267, 0.034784},
                                                  {7, 0.095753, 0.015752},
                                                  {15, 0.048037, 0.007929},
                                                  {31, 0.024222, 0.004179}};
  for (const auto& row : table) {
    INFO("delay " << row[0]);
    CHECK(stable_rate({{1, row[0]}}, {0.5}) == Approx(row[1]).margin(1e-6));
    CHECK(stable_rate({{1, row[0]}}, {0.9}) == Approx(row[2]).margin(1e-6));
  }
}

TEST_CASE("stages with the same delay act as one", "[stability]") {
  CHECK(stable_rate({{0.25, 3}, {0.5, 3}, {0.25, 3}}) == Approx(closed_form(3)));
  CHECK(stable_rate({{1, 3}, {0, 40}}) == Approx(closed_form(3)));
}

TEST_CASE("below the edge the recurrence dies away, above it it grows", "[stability]") {
  const std::vector<std::vector<DelayedShare>> several = {{{1, 0}},
                                                          {{1, 5}},
                                                          {{0.5, 3}, {0.5, 0}},
                                                          {{0.1, 7}, {0.9, 1}},
                                                          {{0.4, 3}, {0.3, 2}, {0.2, 1}, {0.1, 0}}};
  const std::vector<Momentum> momenta = {{}, {0.5}, {0.9}, {0.9, true}};
  for (const auto& shares : several)
    for (const Momentum& momentum : momenta) {
      const double edge = stable_rate(shares, momentum);
      INFO(shares.size() << " shares, first delay " << shares[0].delay << ", momentum "
                         << momentum.factor << (momentum.nesterov ? " nesterov" : ""));
      CHECK(after(shares, momentum, 0.97 * edge, 20000) < 1e-3);
      CHECK(after(shares, momentum, 1.03 * edge, 20000) > 1e3);
    }
}
