// Trainings that take turns while they are measured, and the rates of memory.
#include "profile/added_times.hpp"

#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "profile/measure_point.hpp"
#include "profile/memory_rates.hpp"

using namespace pipetrain;

namespace {

struct Line {
  const Graph graph = read_model_text(R"(
name = "line"
input = { shape = [6] }
layers = [
  { name = "in", kind = "linear", out_features = 8 },
  { name = "relu", kind = "relu" },
  { name = "out", kind = "linear", out_features = 3 },
]
)",
                                      "test");
  const std::unique_ptr<const Dataset> data =
      draw_synthetic({.samples = 16, .seed = 3, .part = "train"}, graph);
  const Config config = [] {
    Config chosen;
    chosen.hardware.backend = "reference";
    return chosen;
  }();
  const WatchedModel model{
      .config = config, .graph = graph, .data = *data, .samples = 4, .microbatches = 3};
};

}  // namespace

TEST_CASE("ways to train that are measured in turn each have times of all layers", "[profile]") {
  const Line line;
  WatchedModel cut = line.model;
  cut.firsts = {0, 2};
  const std::vector<ProfilePoint> points = measure_in_turn({line.model, cut}, 0.01);
  REQUIRE(points.size() == 2);
  for (const ProfilePoint& point : points) {
    REQUIRE(point.layers.size() == 3);
    CHECK(point.samples == 4);
    CHECK(point.microbatches == 3);
    CHECK(point.held_bytes > 0);
    CHECK(point.layers[0].forward_ms > 0);
    CHECK(point.layers[2].backward_weight_ms > 0);
  }
}

TEST_CASE("times that cuts and halves add change nothing else of a point", "[profile]") {
  const Line line;
  const ProfilePoint before = measure_point(line.model, {}, 0.01);
  for (const std::int64_t held : {before.held_bytes, std::int64_t{1} << 40}) {
    ProfilePoint point = before;
    for (LayerTimes& layer : point.layers) layer.split_backward_ms = -1;
    point.held_bytes = held;  // in turn, or one after the other
    AddedTimes added(line.model, point);
    added.measure(0.01);
    added.measure(0.01);
    added.set(point);
    for (std::size_t l = 0; l < point.layers.size(); ++l) {
      CHECK(point.layers[l].forward_ms == before.layers[l].forward_ms);
      CHECK(point.layers[l].backward_weight_ms == before.layers[l].backward_weight_ms);
      CHECK(point.layers[l].split_backward_ms >= 0);
    }
    CHECK(point.layers[2].cut_forward_ms == 0);
    CHECK(point.rest_ms == before.rest_ms);
  }
}

TEST_CASE("of two measurements the faster one is kept", "[profile]") {
  const auto point = [](double forward_ms, double rest_ms) {
    return ProfilePoint{.layers = {{.forward_ms = forward_ms, .backward_weight_ms = 1}},
                        .rest_ms = rest_ms};
  };
  ProfilePoint kept = point(2, 5);
  keep_faster(kept, point(3, 1));
  CHECK(kept.rest_ms == 5);
  keep_faster(kept, point(1, 9));
  CHECK(kept.rest_ms == 9);
  CHECK(compute_ms(kept) == 2);
}

TEST_CASE(
    "points that compute alike have the fastest forwards and backwards, and their own updates",
    "[profile]") {
  const auto point = [](double ms) {
    return ProfilePoint{.layers = {{.forward_ms = ms,
                                    .backward_input_ms = ms,
                                    .first_weight_ms = ms,
                                    .backward_weight_ms = ms,
                                    .update_ms = ms}}};
  };
  std::vector<ProfilePoint> points = {point(3), point(2), point(4)};
  share_fastest_compute(points);
  for (const ProfilePoint& shared : points) {
    CHECK(compute_ms(shared) == 6);
    CHECK(shared.layers[0].first_weight_ms == 2);
  }
  CHECK(points[0].layers[0].update_ms == 3);
  CHECK(points[2].layers[0].update_ms == 4);
}

TEST_CASE("of two measurements of memory rates the faster ones are kept", "[profile]") {
  std::vector<MemoryRate> rates = {{.bytes = 1, .bytes_per_second = 9},
                                   {.bytes = 4, .bytes_per_second = 2}};
  keep_faster(rates, {{.bytes = 1, .bytes_per_second = 8}, {.bytes = 4, .bytes_per_second = 5}});
  CHECK(rates[0].bytes_per_second == 9);
  CHECK(rates[1].bytes_per_second == 5);
}

TEST_CASE("memory rates are measured for more and more bytes", "[profile]") {
  const std::vector<MemoryRate> rates = measure_memory_rates(*make_backend("cpu"));
  REQUIRE(rates.size() > 2);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    CHECK(rates[i].bytes_per_second > 0);
    if (i > 0) CHECK(rates[i].bytes > rates[i - 1].bytes);
  }
}
