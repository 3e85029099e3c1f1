#include "run/rank_devices.hpp"

#include "catch.hpp"

using namespace pipetrain;

namespace {

Config four_workers(std::vector<std::string> devices) {
  Config config;
  config.pipeline.stages = 4;
  config.hardware.backend = "cuda";
  config.hardware.devices = std::move(devices);
  return config;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a rank uses the devices that its workers are given, and none of other ranks'") {
  const Config two_hosts = four_workers({"cuda:0", "cuda:1", "cuda:0", "cuda:2"});
  CHECK(rank_devices(two_hosts, {.rank = 0, .count = 2}, 0, 8) ==
        Names{"cuda:0", "cuda:1", "cuda:0", "cuda:0"});
  CHECK(rank_devices(two_hosts, {.rank = 1, .count = 2}, 0, 8) ==
        Names{"cuda:0", "cuda:0", "cuda:0", "cuda:2"});
  CHECK(rank_devices(two_hosts, {.rank = 3, .count = 4}, 1, 8) == Names(4, "cuda:2"));
  const Config shared = four_workers({"cuda:0", "cuda:3"});
  CHECK(rank_devices(shared, {.rank = 1, .count = 2}, 0, 8) == Names(4, "cuda:3"));
  CHECK(rank_devices(shared, {}, 0, 8) == Names{"cuda:0", "cuda:3"});
}

TEST_CASE("where no device is named, each rank of a host has one of its own") {
  const Config none = four_workers({});
  CHECK(rank_devices(none, {.rank = 3, .count = 4}, 1, 2) == Names{"cuda:1"});
  CHECK(rank_devices(none, {.rank = 2, .count = 4}, 2, 1) == Names{"cuda:0"});  // it sees only that
  CHECK(rank_devices(none, {.rank = 2, .count = 4}, 2, 0) == Names{"cuda:0"});  // and will be told
  CHECK(rank_devices(none, {}, 0, 2).empty());
}
