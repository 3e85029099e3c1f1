// What workers send each other: messages over the boundaries between stages, and sums of gradients.
//
// A message is one packet: the tensors of a micro-batch that cross a boundary, as they are stored
// in memory (each to a multiple of 64 bytes). Stages of one worker hand packets over; that is no
// message. A sum of gradients is counted as a ring all-reduce carries it: each of m members sends
// 2 (m - 1) messages of an m-th of the bytes, so all together 2 (m - 1) times the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pipetrain {

struct Volume {
  std::int64_t bytes = 0, messages = 0;

  void add(const Volume& other) {
    bytes += other.bytes;
    messages += other.messages;
  }
  bool operator==(const Volume&) const = default;
};

// Of all members of a ring together.
Volume ring_all_reduce(std::int64_t bytes, int members);

// One stage's part.
struct StageVolumes {
  Volume activations;  // that came from the stage before
  Volume gradients;    // that came from the stage after
  Volume all_reduce;   // of its copies' gradients
  Volume tied;         // of the parameters that it shares with other stages, where it has the first
                       // use of them
  double link_seconds = 0;  // hardware.link: what all of that takes, message by message

  void add(const StageVolumes& other);
  bool operator==(const StageVolumes&) const = default;
};

// Of all stages, in their order.
struct Communication {
  std::vector<StageVolumes> stages;

  void add(std::span<const StageVolumes> parts);
  void add(const Communication& other) { add(other.stages); }
  Volume of(Volume StageVolumes::*kind) const;  // summed over stages
  Volume total() const;
  double link_seconds() const;
  bool operator==(const Communication&) const = default;
};

}  // namespace pipetrain
