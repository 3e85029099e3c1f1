// Cluster files. In a cluster that is accepted, every device reaches every other.
#include <cmath>

#include "plan/cluster/read.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

constexpr int kFewDevices = 64;  // among many, routes through other devices take long to find

void require_devices(const Cluster& cluster) {
  fuzz::require(device_count(cluster) >= 1, "a cluster has devices");
  for (const Cluster::Device& device : cluster.devices) {
    fuzz::require(device.speed > 0 && std::isfinite(device.speed), "a device has a speed");
    fuzz::require(device.memory_bytes.value_or(1) > 0, "a device has memory");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  return fuzz::refused_or_read([&] {
    const std::string text(fuzz::text_of(bytes, count));
    const Cluster cluster = read_cluster_text(text, "cluster.toml");
    require_devices(cluster);
    fuzz::require(!find_apart(cluster), "every device reaches every other");
    if (device_count(cluster) > kFewDevices) return;
    for (const Wire& wire : neighbour_wires(cluster, true))
      fuzz::require(wire.bytes_per_second > 0 && wire.latency_ms >= 0, "a wire carries bytes");
  });
}
