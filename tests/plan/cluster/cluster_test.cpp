// Routes between devices, and what planners ask of a cluster.
#include "plan/cluster/cluster.hpp"

#include "catch.hpp"

using namespace pipetrain;

namespace {

// Servers of 3 and 2 devices, joined by a network.
Cluster two_servers() {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d", "e"}) cluster.devices.push_back({.name = name});
  cluster.levels.push_back({"server", {3, 2}, {.bytes_per_second = 8e9, .latency_ms = 0.002}});
  cluster.levels.push_back({"network", {2}, {.bytes_per_second = 1e9, .latency_ms = 0.05}});
  return cluster;
}

// Boards in a chain, each joined to the next.
Cluster chain_of_boards() {
  Cluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.devices.push_back({.name = name});
  cluster.links.push_back({{0, 1}, {.bytes_per_second = 4e9, .latency_ms = 1}});
  cluster.links.push_back({{1, 2}, {.bytes_per_second = 2e9, .latency_ms = 3}});
  return cluster;
}

}  // namespace

TEST_CASE("two devices meet on the innermost level that holds both") {
  const Cluster cluster = two_servers();
  CHECK(route(cluster, 0, 2).wire == Wire{8e9, 0.002, false});
  CHECK(route(cluster, 3, 4).wire == Wire{8e9, 0.002, false});
  CHECK(route(cluster, 2, 3).wire == Wire{1e9, 0.05, false});
  CHECK(route(cluster, 3, 2).wire == Wire{1e9, 0.05, false});
  CHECK(route(cluster, 0, 1).medium == route(cluster, 1, 2).medium);
  CHECK(route(cluster, 0, 1).medium != route(cluster, 3, 4).medium);
  CHECK(route(cluster, 0, 1).medium != route(cluster, 0, 3).medium);
}

TEST_CASE("a link that names two devices wins over their level") {
  Cluster cluster = two_servers();
  cluster.links.push_back({{0, 4}, {.bytes_per_second = 5e9}});
  CHECK(route(cluster, 0, 4).wire.bytes_per_second == 5e9);
  CHECK(route(cluster, 4, 0).wire.bytes_per_second == 5e9);
  CHECK(route(cluster, 1, 4).wire.bytes_per_second == 1e9);
}

TEST_CASE(
    "a route through other devices has the narrowest bandwidth and the sum of the latencies") {
  const Cluster cluster = chain_of_boards();
  CHECK(route(cluster, 0, 2).wire == Wire{2e9, 4, false});
  CHECK(route(cluster, 2, 0).wire == Wire{2e9, 4, false});
  CHECK(route(cluster, 0, 2).medium == route(cluster, 1, 2).medium);
}

TEST_CASE("of routes with the same number of hops the widest is taken") {
  Cluster cluster = chain_of_boards();
  cluster.devices.push_back({.name = "d"});
  cluster.links.push_back({{0, 3}, {.bytes_per_second = 3e9}});
  cluster.links.push_back({{2, 3}, {.bytes_per_second = 9e9}});
  CHECK(route(cluster, 0, 2).wire == Wire{3e9, 0, false});
}

TEST_CASE("devices that nothing joins are found") {
  Cluster cluster = two_servers();
  CHECK_FALSE(find_apart(cluster));
  CHECK_FALSE(find_apart(chain_of_boards()));
  cluster.levels.pop_back();
  const auto apart = find_apart(cluster);
  REQUIRE(apart);
  CHECK(apart->from == 0);
  CHECK(apart->to == 3);
  CHECK_FALSE(Routes(cluster).find(2, 3));
  CHECK(Routes(cluster).find(0, 2));
}

TEST_CASE("neighbours that share a medium divide it") {
  Cluster cluster = two_servers();
  cluster.levels[0].wire.shared = true;
  const auto speeds = [&](bool ring) {
    std::vector<double> speeds;
    for (const Wire& wire : neighbour_wires(cluster, ring)) speeds.push_back(wire.bytes_per_second);
    return speeds;
  };
  // The pairs 0-1 and 1-2 share a server; 3-4 has the other one alone.
  CHECK(speeds(false) == std::vector<double>{4e9, 4e9, 1e9, 8e9});
  CHECK(speeds(true) == std::vector<double>{4e9, 4e9, 1e9, 8e9, 1e9});
  cluster.levels[1].wire.shared = true;  // the pairs 2-3 and 4-0 share the network
  CHECK(speeds(true) == std::vector<double>{4e9, 4e9, 0.5e9, 8e9, 0.5e9});
}

TEST_CASE("a ring of two devices is one pair, and of one device none") {
  CHECK(neighbour_wires(cluster_of({{2, 1e9}}), true).size() == 1);
  CHECK(neighbour_wires(cluster_of({{1, 1e9}}), true).empty());
}

TEST_CASE("levels given as numbers make a cluster, and come back") {
  const Cluster cluster = cluster_of({{4, 12e9}, {3, 1e9}});
  CHECK(device_count(cluster) == 12);
  CHECK(cluster.devices[11].name == "device-11");
  CHECK(route(cluster, 0, 3).wire.bytes_per_second == 12e9);
  CHECK(route(cluster, 3, 4).wire.bytes_per_second == 1e9);
  CHECK_FALSE(find_apart(cluster));
  const auto levels = even_levels(cluster);
  REQUIRE(levels);
  REQUIRE(levels->size() == 2);
  CHECK((*levels)[0].size == 4);
  CHECK((*levels)[1].size == 3);
  CHECK((*levels)[1].bytes_per_second == 1e9);
  CHECK_FALSE(even_levels(two_servers()));
  CHECK_FALSE(even_levels(chain_of_boards()));
}

TEST_CASE("devices are alike in speed, memory and execution") {
  Cluster cluster = two_servers();
  CHECK(homogeneous(cluster));
  CHECK_FALSE(asynchronous(cluster));
  for (Cluster::Device& device : cluster.devices) device.execution = Execution::Async;
  CHECK(asynchronous(cluster));
  cluster.devices[2].execution = Execution::Sync;
  CHECK_FALSE(asynchronous(cluster));
  CHECK_FALSE(homogeneous(cluster));
  cluster = two_servers();
  cluster.devices[4].speed = 2;
  CHECK_FALSE(homogeneous(cluster));
  cluster = two_servers();
  cluster.devices[0].memory_bytes = 1;
  CHECK_FALSE(homogeneous(cluster));
}
