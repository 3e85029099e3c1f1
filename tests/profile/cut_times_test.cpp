// What a cut adds, from times with and without it.
#include "profile/cut_times.hpp"

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("every boundary is cut in one of two ways", "[profile]") {
  CHECK(every_second_cut(5, 0) == std::vector<int>{0, 1, 3});
  CHECK(every_second_cut(5, 1) == std::vector<int>{0, 2, 4});
  CHECK(every_second_cut(1, 0) == std::vector<int>{0});
}

TEST_CASE("a cut adds the extra time of both its sides, and never less than nothing", "[profile]") {
  const LayerTimes even = {.forward_ms = 1, .backward_input_ms = 2, .backward_weight_ms = 3};
  std::vector<LayerTimes> uncut(3, even);
  std::array<std::vector<LayerTimes>, 2> cut = {uncut, uncut};
  cut[0][0].forward_ms = 1.5;  // after the first layer
  cut[0][1].forward_ms = 1.25;
  cut[0][0].backward_weight_ms = 2.5;  // faster there, slower on the other side
  cut[0][1].backward_input_ms = 2.75;
  cut[1][1].forward_ms = 0.75;  // after the second
  cut[1][2].backward_weight_ms = 3.5;
  set_cut_times(uncut, cut);
  CHECK(uncut[0].cut_forward_ms == 0.75);
  CHECK(uncut[0].cut_backward_ms == 0.25);
  CHECK(uncut[1].cut_forward_ms == 0);
  CHECK(uncut[1].cut_backward_ms == 0.5);
  CHECK(uncut[2].cut_forward_ms == 0);
}
