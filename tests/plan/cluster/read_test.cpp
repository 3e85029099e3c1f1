// Cluster files: what is read, what is wrong, and where.
#include "plan/cluster/read.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

std::string cluster_error(const std::string& toml) {
  try {
    read_cluster_text(toml, "c.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

const std::string kGood = R"(name = "lab"
[[devices]]
name = "gpu"
count = 3
memory = "16GiB"
[[devices]]
name = "board"
speed = 0.5
memory = 1000
execution = "async"
[[levels]]
name = "server"
sizes = [3, 1]
bandwidth = 12e9
latency_us = 4
shared = true
[[levels]]
size = 2
bandwidth = 1_250_000_000
[[links]]
devices = ["gpu-0", "board"]
bandwidth = 3e9
)";

// A cluster of two devices and one level, except for one part.
std::string with_device(const std::string& keys) {
  return "[[levels]]\nsize=2\nbandwidth=1e9\n[[devices]]\n" + keys + "\n";
}
std::string with_level(const std::string& keys) {
  return "[[devices]]\nname='a'\ncount=4\n[[levels]]\n" + keys + "\n";
}
std::string with_link(const std::string& keys) {
  return "[[devices]]\nname='ab'\n[[devices]]\nname='cd'\n[[links]]\n" + keys + "\n";
}

}  // namespace

TEST_CASE("a cluster file gives devices, levels and links") {
  const Cluster cluster = read_cluster_text(kGood, "c.toml");
  CHECK(cluster.name == "lab");
  REQUIRE(device_count(cluster) == 4);
  CHECK(cluster.devices[2].name == "gpu-2");
  CHECK(cluster.devices[2].speed == 1);
  CHECK(cluster.devices[2].memory_bytes == std::int64_t{16} << 30);
  CHECK(cluster.devices[2].execution == Execution::Sync);
  CHECK(cluster.devices[3].name == "board");
  CHECK(cluster.devices[3].speed == 0.5);
  CHECK(cluster.devices[3].memory_bytes == 1000);
  CHECK(cluster.devices[3].execution == Execution::Async);
  REQUIRE(cluster.levels.size() == 2);
  CHECK(cluster.levels[0].name == "server");
  CHECK(cluster.levels[0].sizes == std::vector<int>{3, 1});
  CHECK(cluster.levels[0].wire == Wire{12e9, 0.004, true});
  CHECK(cluster.levels[1].sizes == std::vector<int>{2});
  CHECK(cluster.levels[1].wire == Wire{1.25e9, 0, false});
  CHECK(route(cluster, 0, 3).wire.bytes_per_second == 3e9);
  CHECK(route(cluster, 1, 3).wire.bytes_per_second == 1.25e9);
}

TEST_CASE("an unnamed cluster is named after its file, and a count's name means all its devices") {
  const Cluster cluster = read_cluster_text(
      "[[devices]]\nname='a'\ncount=3\n[[links]]\ndevices=['a']\nbandwidth=1e9\n", "lab/x.toml");
  CHECK(cluster.name == "x");
  CHECK(cluster.links[0].devices == std::vector<int>{0, 1, 2});
}

TEST_CASE("each mistake of a cluster file is named with its place") {
  struct Case {
    std::string toml;
    const char* position;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"", "1:1", "the cluster has no devices; write at least one [[devices]]"},
      {"devices=[]", "1:1", "the cluster has no devices"},
      {"devices=3", "1:9", "devices is 3; write a list"},
      {"[[device]]\nname='a'", "1:3", "has no key 'device'; did you mean 'devices'?"},
      {"[[devices]\nname='a'", "1:11", "this is not valid TOML"},
      {with_device("count=2"), "4:1", "devices needs name"},
      {with_device("name='a'\ncount=0"), "6:7", "count is 0; write a whole number from 1"},
      {with_device("name='a'\ncount=5000"), "6:7", "more than 4096 devices"},
      {with_device("name='a'\ncount=2\nspeed=0"), "7:7", "speed is 0; write a number above 0"},
      {with_device("name='a'\ncount=2\nspeed=-1"), "7:7", "speed is -1; write a number above 0"},
      {with_device("name='a'\ncount=2\nspeed=nan"), "7:7", "speed is nan; write a number above 0"},
      {with_device("name='a'\ncount=2\nspeed=inf"), "7:7", "speed is inf; write a number above 0"},
      {with_device("name='a'\ncount=2\nspeed='1'"), "7:7", "speed is \"1\"; write a number"},
      {with_device("name='a'\ncount=2\nsped=1"), "7:1", "no key 'sped'; did you mean 'speed'?"},
      {with_device("name='a'\ncount=2\nmemory='16 gigs'"), "7:8",
       "memory is \"16 gigs\"; write a size such as \"16GiB\""},
      {with_device("name='a'\ncount=2\nmemory=-5"), "7:8", "memory is -5; write a size"},
      {with_device("name='a'\ncount=2\nmemory=1.5"), "7:8", "memory is 1.5; write a size"},
      {with_device("name='a'\ncount=2\nexecution='both'"), "7:11",
       "execution is \"both\"; write one of: sync, async"},
      {with_device("name='a'\n[[devices]]\nname='a'"), "7:6", "the name 'a' is taken"},
      {with_device("name='a-1'\n[[devices]]\nname='a'\ncount=2"), "7:6", "the name 'a-1' is taken"},
      {with_device("name='$a'\ncount=2"), "5:6", "begin it with a letter"},
      {with_level("size=4"), "4:1", "level 1 needs bandwidth"},
      {with_level("size=4\nbandwith=1e9"), "6:1", "did you mean 'bandwidth'?"},
      {with_level("size=4\nbandwidth=0"), "6:11", "bandwidth is 0; write a number above 0"},
      {with_level("size=4\nbandwidth=-1e9"), "6:11", "write a number above 0"},
      {with_level("size=4\nbandwidth=nan"), "6:11", "bandwidth is nan; write a number above 0"},
      {with_level("size=4\nbandwidth=inf"), "6:11", "bandwidth is inf; write a number above 0"},
      {with_level("size=4\nbandwidth=1e9\nlatency_us=-1"), "7:12",
       "latency_us is -1; write a number of at least 0"},
      {with_level("size=4\nbandwidth=1e9\nlatency_us=nan"), "7:12",
       "latency_us is nan; write a number of at least 0"},
      {with_level("size=4\nbandwidth=1e9\nshared=1"), "7:8", "write true or false"},
      {with_level("bandwidth=1e9"), "4:1",
       "write either size = 4, if its groups are alike, or sizes"},
      {with_level("size=4\nsizes=[4]\nbandwidth=1e9"), "4:1", "either size = 4"},
      {with_level("siz=4\nbandwidth=1e9"), "5:1", "did you mean 'size'?"},
      {with_level("size=0\nbandwidth=1e9"), "5:6", "size is 0; write a whole number from 1"},
      {with_level("size=3\nbandwidth=1e9"), "5:6",
       "size does not fit the 4 devices or groups below"},
      {with_level("sizes=[3]\nbandwidth=1e9"), "5:7", "write numbers that add up to 4"},
      {with_level("sizes=[3,0]\nbandwidth=1e9"), "5:7", "a list of whole numbers from 1"},
      {with_level("sizes=4\nbandwidth=1e9"), "5:7", "sizes is 4; write a list"},
      {with_level("size=2\nbandwidth=1e9"), "4:1",
       "no path leads from device 'a-0' to 'a-2'; add a [[levels]]"},
      {with_level("size=2\nbandwidth=1e9\nname='x'\n[[levels]]\nname='x'\nsize=2\nbandwidth=1"),
       "8:1", "the name 'x' is taken"},
      {"[[devices]]\nname='a'\n[[devices]]\nname='b'", "1:1", "no path leads from device 'a'"},
      {with_link("bandwidth=1e9"), "5:1", "a link needs devices"},
      {with_link("devices=['ab']\nbandwidth=1e9"), "6:9", "joins two devices or more"},
      {with_link("devices=['ab','ab']\nbandwidth=1e9"), "6:9", "joins two devices or more"},
      {with_link("devices=['ab','cb']\nbandwidth=1e9"), "6:9",
       "there is no device 'cb'; did you mean 'ab'?"},
      {with_link("devices='ab'\nbandwidth=1e9"), "6:9", "a list of names"},
      {with_link("devices=['ab','cd']"), "5:1", "a link needs bandwidth"},
  };
  for (const Case& c : cases) {
    const std::string error = cluster_error(c.toml);
    INFO(c.toml << "\n-> " << error);
    CHECK_THAT(error, Contains(std::string("c.toml:") + c.position + ": "));
    CHECK_THAT(error, Contains(c.what));
    CHECK_THAT(error, !Contains("\n"));
  }
}

TEST_CASE("all problems of a cluster file are reported at once") {
  const std::string error = cluster_error(
      "nam='x'\n[[devices]]\nname='a'\nspeed=-1\n[[devices]]\nname='a'\n[[levels]]\nsize=2\n"
      "[[links]]\ndevices=['b']\nbandwidth=nan\n");
  INFO(error);
  for (const char* place : {"c.toml:1:1: ", "c.toml:4:7: ", "c.toml:6:6: ", "c.toml:7:1: ",
                            "c.toml:10:9: ", "c.toml:11:11: "})
    CHECK_THAT(error, Contains(place));
  CHECK(std::count(error.begin(), error.end(), '\n') == 5);
}

TEST_CASE("a name that is neither a preset nor a file gets the nearest preset") {
  CHECK_THROWS_WITH(read_cluster("pipedream-aa"),
                    Contains("--cluster pipedream-aa") && Contains("did you mean 'pipedream-a'?"));
  CHECK_THROWS_WITH(read_cluster("no/such/file.toml"),
                    Contains("name a cluster file (TOML), or") && Contains("bapipe-fpga-mixed"));
  CHECK_THROWS_AS(read_cluster("no/such/file.toml"), UsageError);
}

TEST_CASE("every preset loads, under its name") {
  for (const ClusterPreset& preset : cluster_presets()) {
    INFO(preset.name);
    const Cluster cluster = read_cluster(std::string(preset.name));
    CHECK(cluster.name == preset.name);
    CHECK(even_levels(cluster));
    for (const Cluster::Device& device : cluster.devices) CHECK(device.memory_bytes);
  }
}

TEST_CASE("PipeDream's clusters have the paper's servers and networks") {
  const Cluster a = read_cluster("pipedream-a"), b = read_cluster("pipedream-b"),
                c = read_cluster("pipedream-c");
  CHECK(device_count(a) == 16);
  CHECK(a.levels[0].sizes == std::vector<int>{4, 4, 4, 4});
  CHECK(route(a, 3, 4).wire.bytes_per_second == 1.25e9);
  CHECK(device_count(b) == 16);
  CHECK(b.levels[0].sizes == std::vector<int>{8, 8});
  CHECK(route(b, 7, 8).wire.bytes_per_second == 3.125e9);
  CHECK(device_count(c) == 4);
  CHECK(route(c, 0, 3).wire.bytes_per_second == 5e9);
  CHECK_FALSE(asynchronous(a));
  CHECK(asynchronous(read_cluster("bapipe-fpga-4")));
  CHECK_FALSE(homogeneous(read_cluster("bapipe-fpga-mixed")));
}
