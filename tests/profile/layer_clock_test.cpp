// What the clock makes of the calls around kernels.
#include "profile/layer_clock.hpp"

#include <chrono>
#include <thread>

#include "backend/backend.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

void work_for(LayerClock& clock, LayerWork work, int layer, int milliseconds) {
  static const auto backend = make_backend("reference");
  static const auto stream = backend->make_stream({});
  watched(&clock, *stream, work, layer,
          [&] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); });
}

}  // namespace

// Two micro-batches: the weight gradient of the second has the update in it. Sleeps take at least
// as long as they are asked to.
TEST_CASE("a layer's times are those of one micro-batch, and of what an update adds", "[profile]") {
  LayerClock clock(2);
  for (int step = 0; step < 3; ++step) {
    work_for(clock, LayerWork::Forward, 0, 2);
    work_for(clock, LayerWork::Forward, 0, 2);
    work_for(clock, LayerWork::BackwardWeight, 0, 1);
    work_for(clock, LayerWork::WeightUpdate, 0, 40);
    work_for(clock, LayerWork::Update, 1, 3);
    work_for(clock, LayerWork::Load, 0, 2);
    work_for(clock, LayerWork::Load, 0, 2);
    clock.end_lot(1, 2);
  }
  const std::vector<LayerTimes> times = clock.medians();
  CHECK(clock.median_ms(LayerWork::Load) >= 2);
  CHECK(clock.watched_ms(0) >= 52);
  REQUIRE(times.size() == 2);
  CHECK(times[0].forward_ms >= 2);
  CHECK(times[0].backward_input_ms == 0);
  CHECK(times[0].backward_weight_ms >= 1);
  CHECK(times[0].fused_update_ms > times[0].backward_weight_ms);
  CHECK(times[0].update_ms == 0);
  CHECK(times[1].update_ms >= 3);
  CHECK(times[1].forward_ms == 0);
}

TEST_CASE("times from before a warm-up's end are forgotten", "[profile]") {
  LayerClock clock(1);
  work_for(clock, LayerWork::Forward, 0, 30);
  clock.end_lot(1, 1);
  clock.forget();
  clock.end_lot(1, 1);
  CHECK(clock.medians()[0].forward_ms == 0);
}
