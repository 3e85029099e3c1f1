#include "plan/cluster/cluster.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.hpp"
#include "base/indexed.hpp"

namespace pipetrain {
namespace {

// For each level and device, the group that holds the device.
std::vector<Indexed<int>> groups_by_level(const Cluster& cluster) {
  std::vector<Indexed<int>> groups;
  Indexed<int> below(cluster.devices.size());  // the part in which each device is
  for (std::size_t d = 0; d < below.size(); ++d) below[d] = static_cast<int>(d);
  for (const Cluster::Level& level : cluster.levels) {
    std::vector<int> group_of_part;
    for (std::size_t g = 0; g < level.sizes.size(); ++g)
      group_of_part.insert(group_of_part.end(), static_cast<std::size_t>(level.sizes[g]),
                           static_cast<int>(g));
    for (int& part : below) part = group_of_part.at(static_cast<std::size_t>(part));
    groups.push_back(below);
  }
  return groups;
}

// Which devices are joined in any way: each island is a tree of devices, identified by its root.
class Islands {
 public:
  explicit Islands(std::size_t devices) : above_(devices) {
    std::iota(above_.begin(), above_.end(), 0);
  }
  int of(int device) {
    int& above = above_[device];
    return above == device ? device : above = of(above);
  }
  void join(int a, int b) { above_[of(a)] = of(b); }

 private:
  Indexed<int> above_;
};

bool same_kind(const Cluster::Device& a, const Cluster::Device& b) {
  return a.speed == b.speed && a.memory_bytes == b.memory_bytes && a.execution == b.execution;
}

bool has(const Cluster::Link& link, int device) {
  return std::ranges::binary_search(link.devices, device);
}

// A way with one more hop: the narrower one sets the bandwidth, and the pairs that take turns.
Route joined(const Route& way, const Route& hop, bool is_first) {
  Route both = is_first || hop.wire.bytes_per_second < way.wire.bytes_per_second ? hop : way;
  both.wire.latency_ms = way.wire.latency_ms + hop.wire.latency_ms;
  return both;
}

bool wider(const Wire& a, const Wire& b) {
  return a.bytes_per_second != b.bytes_per_second ? a.bytes_per_second > b.bytes_per_second
                                                  : a.latency_ms < b.latency_ms;
}

}  // namespace

double travel_ms(const Wire& wire, double bytes) {
  return wire.latency_ms + 1000 * bytes / wire.bytes_per_second;
}

Routes::Routes(const Cluster& cluster) : cluster_(cluster), groups_(groups_by_level(cluster)) {}

std::optional<Route> Routes::direct(int from, int to) const {
  for (std::size_t l = 0; l < cluster_.links.size(); ++l)
    if (has(cluster_.links[l], from) && has(cluster_.links[l], to))
      return Route{cluster_.links[l].wire, static_cast<int>(l)};
  int medium = static_cast<int>(cluster_.links.size());
  for (std::size_t v = 0; v < groups_.size(); ++v) {
    const int group = groups_[v][from];
    if (group == groups_[v][to]) return Route{cluster_.levels[v].wire, medium + group};
    medium += static_cast<int>(cluster_.levels[v].sizes.size());
  }
  return std::nullopt;
}

std::map<int, Route> Routes::one_hop_further(const std::map<int, Route>& frontier,
                                             const std::map<int, Route>& reached) const {
  std::map<int, Route> next;
  for (const auto& [device, way] : frontier)
    for (int other = 0; other < device_count(cluster_); ++other) {
      if (reached.contains(other)) continue;
      const auto hop = direct(device, other);
      if (!hop) continue;
      const Route longer = joined(way, *hop, reached.size() == 1);
      const auto [known, is_new] = next.emplace(other, longer);
      if (!is_new && wider(longer.wire, known->second.wire)) known->second = longer;
    }
  return next;
}

std::optional<Route> Routes::find(int from, int to) const {
  if (const auto one = direct(from, to)) return one;
  std::map<int, Route> reached, frontier = {{from, Route{}}};
  while (!frontier.empty() && !frontier.contains(to)) {
    reached.merge(std::map(frontier));
    frontier = one_hop_further(frontier, reached);
  }
  const auto found = frontier.find(to);
  return found == frontier.end() ? std::nullopt : std::optional(found->second);
}

Route Routes::between(int from, int to) const {
  const auto found = find(from, to);
  PIPETRAIN_CHECK(found, "no way from device {} to {}", from, to);
  return *found;
}

Route route(const Cluster& cluster, int from, int to) { return Routes(cluster).between(from, to); }

std::optional<Apart> find_apart(const Cluster& cluster) {
  Islands islands(cluster.devices.size());
  for (const Cluster::Link& link : cluster.links)
    for (const int device : link.devices) islands.join(link.devices.front(), device);
  for (const Indexed<int>& group_of : groups_by_level(cluster)) {
    std::map<int, int> first;  // the first device of each group
    for (int device = 0; device < device_count(cluster); ++device)
      islands.join(first.emplace(group_of[device], device).first->second, device);
  }
  for (int device = 0; device < device_count(cluster); ++device)
    if (islands.of(device) != islands.of(0)) return Apart{0, device};
  return std::nullopt;
}

int device_count(const Cluster& cluster) { return static_cast<int>(cluster.devices.size()); }

bool homogeneous(const Cluster& cluster) {
  return std::ranges::all_of(cluster.devices, [&](const Cluster::Device& device) {
    return same_kind(device, cluster.devices.front());
  });
}

bool asynchronous(const Cluster& cluster) {
  return std::ranges::all_of(cluster.devices, [](const Cluster::Device& device) {
    return device.execution == Execution::Async;
  });
}

std::vector<Wire> neighbour_wires(const Cluster& cluster, bool ring) {
  const int count = device_count(cluster);
  std::vector<Route> routes;
  const Routes ways(cluster);
  const int pairs = ring && count > 2 ? count : count - 1;
  for (int d = 0; d < pairs; ++d) {
    routes.push_back(ways.between(d, (d + 1) % count));
  }
  std::map<int, int> users;
  for (const Route& one : routes) ++users[one.medium];
  std::vector<Wire> wires;
  for (const Route& one : routes) {
    wires.push_back(one.wire);
    if (one.wire.shared) wires.back().bytes_per_second /= users[one.medium];
  }
  return wires;
}

std::vector<Cluster> single_devices(const Cluster& cluster) {
  std::vector<Cluster> kinds;
  for (const Cluster::Device& device : cluster.devices)
    if (std::ranges::none_of(
            kinds, [&](const Cluster& kind) { return same_kind(kind.devices.front(), device); }))
      kinds.push_back({.name = device.name, .devices = {device}, .levels = {}, .links = {}});
  return kinds;
}

Cluster cluster_of(const std::vector<EvenLevel>& levels) {
  PIPETRAIN_CHECK(!levels.empty(), "a cluster has a level at least");
  Cluster cluster;
  cluster.name = "devices";
  int groups = 1;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    Cluster::Level made;
    made.name = fmt::format("level {}", levels.rend() - level);
    made.sizes.assign(static_cast<std::size_t>(groups), level->size);
    made.wire.bytes_per_second = level->bytes_per_second;
    cluster.levels.insert(cluster.levels.begin(), made);
    groups *= level->size;
  }
  for (int d = 0; d < groups; ++d) cluster.devices.push_back({.name = fmt::format("device-{}", d)});
  return cluster;
}

std::optional<std::vector<EvenLevel>> even_levels(const Cluster& cluster) {
  if (!cluster.links.empty()) return std::nullopt;
  std::vector<EvenLevel> levels;
  for (const Cluster::Level& level : cluster.levels) {
    const int size = level.sizes.front();
    if (std::ranges::any_of(level.sizes, [&](int other) { return other != size; }))
      return std::nullopt;
    levels.push_back({size, level.wire.bytes_per_second});
  }
  if (levels.empty()) levels.push_back({1, 0});  // one device, which reaches no other
  return levels;
}

}  // namespace pipetrain
