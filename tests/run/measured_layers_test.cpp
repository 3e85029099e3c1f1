// What layers take on a core of their own, from the busy times of parts.
#include "run/rebalance/measured_layers.hpp"

#include "catch.hpp"

using namespace pipetrain;

namespace {

MeasuredLayers four_layers() {
  return MeasuredLayers(
      {.costs = {1, 1, 2, 2}, .weight_halves = {0, 0.5, 0, 1}, .updates = {0, 0, 0, 4}});
}

void check(const PartTimes& part, double ms, double tail_ms, double update_ms) {
  CHECK(part.ms == Approx(ms));
  CHECK(part.tail_ms == Approx(tail_ms));
  CHECK(part.update_ms == Approx(update_ms));
}

}  // namespace

TEST_CASE("a part's time is shared out by estimated costs, its update's too", "[rebalance]") {
  MeasuredLayers layers = four_layers();
  layers.see({20, 40}, {0, 2});  // 10 and 5 ms per unit
  const auto parts = layers.by_part({0, 1});
  check(parts[0], 10, 0, 0);
  check(parts[1], 10 + 20, 5, 20);
}

TEST_CASE("a slow part's layers take less time elsewhere, and others take more there",
          "[rebalance]") {
  MeasuredLayers layers = four_layers();
  layers.see({20, 40}, {0, 2});
  layers.see({60, 40}, {0, 2});
  check(layers.by_part({0, 1})[0], 30, 0, 0);
  check(layers.by_part({0, 1})[1], 30, 5, 20);
  check(layers.by_part({0, 3})[0], 90, 15, 0);
  CHECK(layers.balanced() == std::vector{0, 1});
  layers.see({20, 40}, {0, 2});  // and no longer
  check(layers.by_part({0, 3})[0], 30, 5, 0);
}

TEST_CASE("the shortest time of a layer counts", "[rebalance]") {
  MeasuredLayers layers = four_layers();
  layers.see({40, 40}, {0, 2});  // the first part's core was shared
  layers.see({20, 40}, {0, 2});
  check(layers.by_part({0, 1})[0], 10, 0, 0);
  CHECK(layers.balanced() == std::vector{0, 2});
}
