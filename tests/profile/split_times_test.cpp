// What running the halves of a backward apart adds, from times with and without it.
#include "profile/split_times.hpp"

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("halves apart add what both take longer together, and never less than nothing",
          "[profile]") {
  const LayerTimes even = {.forward_ms = 1, .backward_input_ms = 2, .backward_weight_ms = 3};
  std::vector<LayerTimes> whole(3, even), split = whole;
  split[0].backward_input_ms = 1.75;  // reads what is in the caches; the other half no longer does
  split[0].backward_weight_ms = 3.75;
  split[1].backward_weight_ms = 2.5;
  split[2].forward_ms = 7;
  set_split_times(whole, split);
  CHECK(whole[0].split_backward_ms == 0.5);
  CHECK(whole[0].backward_weight_ms == 3);
  CHECK(whole[1].split_backward_ms == 0);
  CHECK(whole[2].split_backward_ms == 0);
}
