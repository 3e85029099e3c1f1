// A simulated link between two workers, to study a cluster on one machine: a rate, and a latency
// that is added to each message.
#pragma once

#include <cstdint>
#include <limits>

namespace pipetrain {

struct LinkRate {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  double latency_seconds = 0;

  // How long a message occupies the link.
  double busy_seconds(double bytes) const { return bytes / bytes_per_second; }
  // How long a message takes on a free link.
  double seconds(double bytes) const { return busy_seconds(bytes) + latency_seconds; }
  // A ring all-reduce over m members: each sends 2 (m - 1) messages to the next, one after the
  // other, of 1/m of the bytes each.
  double ring_seconds(double bytes, int members) const {
    return members < 2 ? 0 : 2 * (members - 1) * seconds(bytes / members);
  }
  bool operator==(const LinkRate&) const = default;
};

}  // namespace pipetrain
