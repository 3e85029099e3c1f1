// A simulated link between two workers, to study a cluster on one machine:
// a rate, and a latency that is added to each message.
#pragma once

#include <cstdint>
#include <limits>

namespace pipetrain {

struct LinkRate {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  double latency_seconds = 0;

  // For which the link can carry nothing else.
  double busy_seconds(double bytes) const { return bytes / bytes_per_second; }
  // Of one message on a link that is free.
  double seconds(double bytes) const { return busy_seconds(bytes) + latency_seconds; }
  // A ring all-reduce over m members: 2 (m - 1) messages from each to the next, one after the
  // other, each an m-th of the bytes.
  double ring_seconds(double bytes, int members) const {
    return members < 2 ? 0 : 2 * (members - 1) * seconds(bytes / members);
  }
  bool operator==(const LinkRate&) const = default;
};

}  // namespace pipetrain
