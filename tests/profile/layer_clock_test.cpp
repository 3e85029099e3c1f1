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

// Three micro-batches: the weight gradient of the last has the update in it. Sleeps take at least
// as long as they are asked to.
TEST_CASE("a layer's times are those of one micro-batch, and of what an update adds", "[profile]") {
  LayerClock clock(2);
  for (int step = 0; step < 3; ++step) {
    for (int m = 0; m < 3; ++m) {
      work_for(clock, LayerWork::Load, 0, 2);
      work_for(clock, LayerWork::Forward, 0, 2);
    }
    work_for(clock, LayerWork::FirstWeight, 0, 1);
    work_for(clock, LayerWork::BackwardWeight, 0, 10);
    work_for(clock, LayerWork::WeightUpdate, 0, 40);
    work_for(clock, LayerWork::Update, 1, 3);
    clock.end_lot(1, 3);
  }
  const std::vector<LayerTimes> times = clock.medians();
  CHECK(clock.median_ms(LayerWork::Load) >= 2);
  CHECK(clock.watched_ms(0) >= 66);
  REQUIRE(times.size() == 2);
  CHECK(times[0].forward_ms >= 2);
  CHECK(times[0].backward_input_ms == 0);
  CHECK(times[0].first_weight_ms >= 1);
  CHECK(times[0].first_weight_ms < times[0].backward_weight_ms);
  CHECK(times[0].backward_weight_ms >= 10);
  CHECK(times[0].fused_update_ms > 0);
  CHECK(times[0].update_ms == 0);
  CHECK(times[1].update_ms >= 3);
  CHECK(times[1].forward_ms == 0);
}

// The second of two has the update in it.
TEST_CASE("of two micro-batches, both weight gradients are taken to cost what the first one does",
          "[profile]") {
  LayerClock clock(1);
  work_for(clock, LayerWork::FirstWeight, 0, 2);
  work_for(clock, LayerWork::WeightUpdate, 0, 40);
  clock.end_lot(1, 2);
  const LayerTimes times = clock.medians()[0];
  CHECK(times.first_weight_ms >= 2);
  CHECK(times.backward_weight_ms == times.first_weight_ms);
}

TEST_CASE("the fastest times may be from different lots", "[profile]") {
  LayerClock clock(1);
  for (const auto& [forward, backward] : {std::pair{1, 60}, {60, 1}, {60, 60}}) {
    work_for(clock, LayerWork::Forward, 0, forward);
    work_for(clock, LayerWork::BackwardInput, 0, backward);
    clock.end_lot(1, 1);
  }
  const LayerTimes fastest = clock.fastest()[0], usual = clock.medians()[0];
  CHECK(fastest.forward_ms >= 1);
  CHECK(fastest.forward_ms < usual.forward_ms);
  CHECK(fastest.backward_input_ms >= 1);
  CHECK(fastest.backward_input_ms < usual.backward_input_ms);
}

TEST_CASE("times from before a warm-up's end are forgotten", "[profile]") {
  LayerClock clock(1);
  work_for(clock, LayerWork::Forward, 0, 30);
  clock.end_lot(1, 1);
  clock.forget();
  clock.end_lot(1, 1);
  CHECK(clock.medians()[0].forward_ms == 0);
}
