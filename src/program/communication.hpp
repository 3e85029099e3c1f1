// What workers send each other: messages over the boundaries between stages, and sums of gradients.
//
// A message is one packet: the tensors of a micro-batch that cross a boundary, as stored in memory
// (each padded to a multiple of 64 bytes). Stages of one worker hand packets over, which is not a
// message. A sum of gradients is counted as a ring all-reduce: each of m members sends 2 (m - 1)
// messages of 1/m of the bytes, so in total 2 (m - 1) times the bytes.
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

// The volume of all members of a ring together.
Volume ring_all_reduce(std::int64_t bytes, int members);

// What one stage causes.
struct StageVolumes {
  Volume activations;  // received from the previous stage
  Volume gradients;    // received from the next stage
  Volume all_reduce;   // for the gradients of its copies
  Volume tied;         // for the parameters that it shares with other stages, counted at the stage
                       // with their first use
  double link_seconds = 0;  // hardware.link: the time of all of that, message by message

  void add(const StageVolumes& other);
  bool operator==(const StageVolumes&) const = default;
};

// For all stages, in their order.
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
