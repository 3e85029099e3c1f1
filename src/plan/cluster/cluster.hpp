// Devices and what joins them, as planners see a cluster: this machine, or one that nobody here
// has.
//
//   level "network"   [ server 0            ] [ server 1            ]      1 group of 2 servers
//   level "pcie"      [ v100-0 ... v100-3   ] [ v100-4 ... v100-7   ]      2 groups of 4 devices
//
// Two devices reach each other over a link that names both; otherwise over the innermost level with
// a group that holds both; otherwise through other devices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/indexed.hpp"

namespace pipetrain {

// Does a device compute while it sends? Async: forwards, backwards and transfers run side by side
// (an FPGA's pipeline). Sync: they run one after the other, like a GPU's kernels.
enum class Execution { Sync, Async };

// How fast bytes get from one device to another.
struct Wire {
  double bytes_per_second = 0;
  double latency_ms = 0;
  bool shared = false;  // all pairs of the group take turns on it

  bool operator==(const Wire&) const = default;
};

double travel_ms(const Wire& wire, double bytes);

struct Cluster {
  struct Device {
    std::string name;
    double speed = 1;  // relative to the device of a profile's times
    std::optional<std::int64_t> memory_bytes = {};
    Execution execution = Execution::Sync;
  };
  struct Level {
    std::string name;
    std::vector<int> sizes;  // of each group, in devices or in groups of the level below
    Wire wire;
  };
  struct Link {
    std::vector<int> devices;  // each pair of these; ascending
    Wire wire;
  };

  std::string name;
  std::vector<Device> devices;
  std::vector<Level> levels;  // from the inside out
  std::vector<Link> links;    // a link that names a pair wins over levels
};

// The way from one device to another.
struct Route {
  Wire wire;       // the slowest on the way, with the sum of the latencies of all
  int medium = 0;  // equal numbers: the same link, or the same group of a level
};

// Finds routes in a cluster, to which it keeps a reference. For many routes of one cluster: what
// they have in common is worked out once.
class Routes {
 public:
  explicit Routes(const Cluster& cluster);

  // None if there is no way. Of ways through other devices, it has the fewest hops, and of those
  // the highest bandwidth.
  std::optional<Route> find(int from, int to) const;
  // The same if there must be a way, as between all devices of a cluster that was read.
  Route between(int from, int to) const;

 private:
  std::optional<Route> direct(int from, int to) const;  // over one link or one level
  std::map<int, Route> one_hop_further(const std::map<int, Route>& frontier,
                                       const std::map<int, Route>& reached) const;

  const Cluster& cluster_;
  std::vector<Indexed<int>> groups_;  // for each level and device, the group that holds the device
};
// One route: Routes::between.
Route route(const Cluster& cluster, int from, int to);

// Two devices without a way between them; none if every device reaches every other.
struct Apart {
  int from = 0, to = 0;
};
std::optional<Apart> find_apart(const Cluster& cluster);

int device_count(const Cluster& cluster);
// One device of each kind (speed, memory, execution), each in a cluster of its own.
std::vector<Cluster> single_devices(const Cluster& cluster);
bool homogeneous(const Cluster& cluster);   // every device has the same speed, memory, execution
bool asynchronous(const Cluster& cluster);  // every device is Async

// The wire of each pair of neighbours (devices i and i + 1), its bytes per second divided by the
// number of these pairs that take turns on it. `ring`: also that of the last and the first device.
std::vector<Wire> neighbour_wires(const Cluster& cluster, bool ring);

// A level whose groups are all alike.
struct EvenLevel {
  int size = 1;
  double bytes_per_second = 0;
};
// `--devices 4,2 --bandwidth 12e9,1.25e9`: from the inside out, devices of speed 1.
Cluster cluster_of(const std::vector<EvenLevel>& levels);
// The reverse; none if the groups of a level differ, or links are named.
std::optional<std::vector<EvenLevel>> even_levels(const Cluster& cluster);

}  // namespace pipetrain
