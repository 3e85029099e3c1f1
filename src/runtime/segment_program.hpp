// The programs that a config's runs are made of, and how much of everything they need.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "program/program.hpp"

namespace pipetrain {

// Training of one mini-batch under the config's schedule; run again for each.
Program training_program(const Config& config, int stages);
// Forward only, one micro-batch through every stage.
Program evaluation_program(int stages);

bool splits_backward(const Program& program);

// How many packets the channels between stages s and s + 1 need, so that no order waits for one
// that its own later instruction would free. A receiver that puts off its weight halves holds what
// they read.
struct PacketCounts {
  int activations = 0;  // held by the sender from forward to backward
  int gradients = 0;    // one being written, one under way, one being read
};
std::vector<PacketCounts> packet_counts(const Program& program);
inline constexpr int evaluation_packets = 2;

}  // namespace pipetrain
