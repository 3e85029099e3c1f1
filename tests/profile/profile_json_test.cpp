// profile.json comes back as it was written, and a damaged one is refused with its place.
#include "profile/profile_json.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

Profile small() {
  Profile profile;
  profile.key = {"net", "1234", "f32", "cpu", "sgd", "a machine", "a library"};
  profile.layers = {{"fc1", "linear", 64, 128, 4096, 2048}, {"fc2", "linear", 0, 40, 400, 200}};
  ProfilePoint point{.samples = 4, .threads = 1};
  point.layers = {{.forward_ms = 1.5,
                   .backward_input_ms = 2.5,
                   .first_weight_ms = 3,
                   .backward_weight_ms = 3.5,
                   .update_ms = 0.25,
                   .pack_ms = 0.0625,
                   .fused_update_ms = 0.125,
                   .spread = 0.01},
                  {.forward_ms = 0.5,
                   .backward_input_ms = 0.5,
                   .first_weight_ms = 0.5,
                   .backward_weight_ms = 0.5,
                   .update_ms = 0.5}};
  point.load_ms = 0.25;
  point.loss_ms = 0.125;
  point.loss_gradient_ms = 0.75;
  point.rest_ms = 0.5;
  profile.points = {point, point, point};
  profile.points[1].samples = 8;
  profile.points[1].layers[0].forward_ms = 2.5;
  profile.points[2].neighbours = 1;
  profile.points[2].layers[0].forward_ms = 7;
  profile.transports = {{"threads", 0.001, 0}};
  profile.memory = {{1 << 20, 4e10}, {1 << 24, 2e10}};
  return profile;
}

struct File {
  const fs::path path = fs::temp_directory_path() / "pipetrain-profile-test.json";
  explicit File(const nlohmann::ordered_json& json) { std::ofstream(path) << json; }
  ~File() { fs::remove(path); }
};

std::string refusal(const nlohmann::ordered_json& json) {
  const File file(json);
  try {
    read_profile_json(file.path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("times are interpolated between points that held less and more", "[profile]") {
  Profile profile = small();
  profile.points.resize(2);
  profile.points[0].held_bytes = 1 << 10;
  profile.points[1] = profile.points[0];
  profile.points[1].held_bytes = 1 << 20;
  profile.points[1].microbatches = 16;
  profile.points[1].rest_ms = 7.5;
  profile.points[1].layers[0].forward_ms = 3.5;
  const auto point = [&](double held, double microbatches) {
    return point_of(profile, {.samples = 4, .held_bytes = held, .microbatches = microbatches});
  };
  CHECK(point(0, 2).layers[0].forward_ms == 1.5);
  CHECK(point(1 << 10, 2).layers[0].forward_ms == 1.5);
  CHECK(point(1 << 15, 2).layers[0].forward_ms == Approx(2.5));
  CHECK(point(1 << 20, 2).layers[0].forward_ms == 3.5);
  // Beyond the largest point times keep growing at the same rate, up to twice its bytes; those that
  // did not grow stay.
  CHECK(point(1 << 21, 2).layers[0].forward_ms == Approx(3.7));
  CHECK(point(1e9, 2).layers[0].forward_ms == Approx(3.7));
  CHECK(point(1e9, 2).layers[0].backward_input_ms == 2.5);
  // A part for each micro-batch, and one for all.
  CHECK(point(0, 2).rest_ms == 0.5);
  CHECK(point(0, 9).rest_ms == Approx(4));
  CHECK(point(1e9, 16).rest_ms == Approx(7.5));
  CHECK(point(0, 1).rest_ms == 0);
}

TEST_CASE("points that held nearly as much say nothing about what holds more", "[profile]") {
  Profile profile = small();
  profile.points.resize(2);
  profile.points[0].held_bytes = 1000;
  profile.points[1] = profile.points[0];
  profile.points[1].layers[0].forward_ms = 3.5;
  const auto beyond_both = [&](std::int64_t held) {
    profile.points[1].held_bytes = held;
    return point_of(profile, {.samples = 4, .held_bytes = 1e9}).layers[0].forward_ms;
  };
  CHECK(beyond_both(1900) == 3.5);
  CHECK(beyond_both(2000) == Approx(5.5));  // as far again
}

// No line through them says anything about one that holds more.
TEST_CASE("points that held about the same are told apart by their micro-batches", "[profile]") {
  Profile profile = small();
  profile.points.resize(2);
  profile.points[0].held_bytes = 100;
  profile.points[0].microbatches = 1;
  profile.points[1] = profile.points[0];
  profile.points[1].held_bytes = 115;
  profile.points[1].microbatches = 16;
  profile.points[1].layers[0].forward_ms = 3.5;
  const auto forward_ms = [&](double held, double microbatches) {
    const ProfilePoint point =
        point_of(profile, {.samples = 4, .held_bytes = held, .microbatches = microbatches});
    return point.layers[0].forward_ms;
  };
  for (const double held : {50.0, 100.0, 115.0, 1e9}) {
    CHECK(forward_ms(held, 1) == 1.5);
    CHECK(forward_ms(held, 4) == Approx(2.5));
    CHECK(forward_ms(held, 16) == 3.5);
    CHECK(forward_ms(held, 64) == 3.5);
  }
}

TEST_CASE("an update's times are those with as many versions of the weights", "[profile]") {
  Profile profile = small();
  profile.points.resize(2);
  profile.points[0].held_bytes = 100;
  profile.points[0].layers[0].fused_update_ms = 1;
  profile.points[1] = profile.points[0];
  profile.points[1].held_bytes = 200;
  profile.points[1].versions = 2;
  profile.points[1].layers[0].forward_ms = 3.5;
  profile.points[1].layers[0].fused_update_ms = 4;
  const auto times = [&](double held, int versions) {
    return point_of(profile, {.samples = 4, .held_bytes = held, .versions = versions}).layers[0];
  };
  for (const double held : {100.0, 200.0, 1e9}) {
    CHECK(times(held, 1).fused_update_ms == 1);
    CHECK(times(held, 2).fused_update_ms == 4);
    CHECK(times(held, 3).fused_update_ms == 4);
    CHECK(times(held, 1).forward_ms == times(held, 0).forward_ms);
    CHECK(times(held, 2).forward_ms == times(held, 0).forward_ms);
  }
  CHECK(times(100, 0).fused_update_ms == 1);
  CHECK(times(200, 0).fused_update_ms == 4);
  profile.points.resize(1);
  CHECK(times(200, 2).fused_update_ms == 1);
}

// A profile has few micro-batches and many, both with one version and with two.
TEST_CASE("an update's times are also those with as many micro-batches", "[profile]") {
  Profile profile = small();
  profile.points.resize(1);
  profile.points[0].held_bytes = 100;
  for (const int i : {1, 2, 3}) {
    profile.points.push_back(profile.points[0]);
    ProfilePoint& point = profile.points.back();
    point.microbatches = i == 2 ? profile.points[0].microbatches : 16;
    point.versions = i == 1 ? 1 : 2;
    point.held_bytes = i == 1 ? 110 : 150;
    point.layers[0].update_ms = 10 * i;
    point.rest_ms = i == 1 ? 7.5 : 70;
  }
  const auto at = [&](int versions, double microbatches) {
    return point_of(
        profile,
        {.samples = 4, .held_bytes = 150, .microbatches = microbatches, .versions = versions});
  };
  const double few = profile.points[0].microbatches;
  CHECK(at(2, few).layers[0].update_ms == 20);
  CHECK(at(2, 16).layers[0].update_ms == 30);
  CHECK(at(1, 16).layers[0].update_ms == 10);
  CHECK(at(2, few).rest_ms == at(1, few).rest_ms);
  CHECK(at(2, 16).rest_ms == 7.5);  // of one version
}

TEST_CASE("a stage that holds whole mini-batches computes as points that did", "[profile]") {
  Profile profile = small();
  profile.points.resize(2);
  profile.points[0].held_bytes = 100;
  profile.points[1] = profile.points[0];
  profile.points[1].held_bytes = 200;
  profile.points[1].versions = 2;  // and so one micro-batch at a time
  profile.points[1].layers[0].forward_ms = 3.5;
  profile.points[1].layers[0].backward_input_ms = 0.5;
  profile.points[1].layers[0].update_ms = 9;
  const auto times = [&](bool all_in_flight) {
    const Conditions wanted{
        .samples = 4, .held_bytes = 200, .versions = 2, .all_in_flight = all_in_flight};
    return point_of(profile, wanted).layers[0];
  };
  const LayerTimes& first = profile.points[0].layers[0];
  CHECK(times(true).forward_ms == first.forward_ms);
  CHECK(times(true).backward_input_ms == first.backward_input_ms);
  CHECK(times(false).forward_ms == 3.5);
  CHECK(times(false).backward_input_ms == 0.5);
  for (const bool all : {true, false}) CHECK(times(all).update_ms == 9);
}

TEST_CASE("how fast memory is depends on how much a worker holds", "[profile]") {
  const Profile profile = small();
  CHECK(memory_rate(profile, 1000) == 4e10);
  CHECK(memory_rate(profile, 1 << 22) == Approx(3e10));
  CHECK(memory_rate(profile, 1e12) == 2e10);
  CHECK(memory_rate({}, 1e12) == 0);
}

TEST_CASE("a profile comes back as it was written", "[profile]") {
  const File file(profile_json(small()));
  CHECK(profile_json(read_profile_json(file.path)) == profile_json(small()));
}

TEST_CASE("what is wrong in a profile.json is named by its place", "[profile]") {
  nlohmann::ordered_json json = profile_json(small());
  json["points"][1]["layers"][0]["forward_ms"] = -1;
  CHECK_THAT(refusal(json), Contains("points[1].layers[0].forward_ms is not a finite number"));
  json = profile_json(small());
  json["points"][0]["layers"].erase(1);
  CHECK_THAT(refusal(json), Contains("points[0].layers has 1 entries for 2 layers"));
  json = profile_json(small());
  json["layers"][1].erase("name");
  CHECK_THAT(refusal(json), Contains("layers[1].name is missing"));
  json = profile_json(small());
  json["memory"][1]["bytes"] = 1;
  CHECK_THAT(refusal(json), Contains("memory[1].bytes is not above the one before it"));
  json = profile_json(small());
  json["points"][0]["samples"] = 4294967297;
  CHECK_THAT(refusal(json), Contains("points[0].samples is too large"));
  json = profile_json(small());
  json["key"]["model"] = 3;
  CHECK_THAT(refusal(json), Contains("key.model is not a string"));
}

TEST_CASE("beside neighbours other times hold, if they were measured", "[profile]") {
  Profile profile = small();
  CHECK(point_of(profile, {4, 1, Beside::Neighbours}).layers[0].forward_ms == 7);
  CHECK(point_of(profile, {8, 1, Beside::Neighbours}).layers[0].forward_ms == 14);
  profile.points.pop_back();
  CHECK(point_of(profile, {4, 1, Beside::Neighbours}).layers[0].forward_ms == 1.5);
}

TEST_CASE("between two sizes times are interpolated, beyond them in proportion", "[profile]") {
  const Profile profile = small();
  CHECK(point_of(profile, {4, 1, Beside::Nobody}).layers[0].forward_ms == 1.5);
  CHECK(point_of(profile, {6, 1, Beside::Nobody}).layers[0].forward_ms == 2.0);
  CHECK(point_of(profile, {16, 1, Beside::Nobody}).layers[0].forward_ms == 5.0);
  CHECK(point_of(profile, {1, 1, Beside::Nobody}).layers[0].forward_ms == 1.5);
  CHECK_THROWS_WITH(point_of(profile, {4, 2, Beside::Nobody}),
                    Contains("no times on 2 threads, only on 1"));
  const LayerChain chain = chain_of(profile, {.samples = 8, .microbatches = 4});
  CHECK(chain.layers[0].sent_bytes == 8 * 64);
  CHECK(chain.layers[0].forward_ms == 2.5 + 0.25);
  CHECK(chain.layers[1].forward_ms == 0.5 + 0.125);
  CHECK(chain.layers[1].backward_input_ms == 0.5 + 0.75);
  CHECK(chain.layers[0].backward_weight_ms == (3 + 3 * 3.5) / 4);
}
