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

// Packets of the channels behind a stage. An activation's is held by its sender from forward to
// backward: as many as it has slots. A gradient's: one being written, one under way, one being
// read.
inline constexpr int gradient_packets = 3, evaluation_packets = 2;

}  // namespace pipetrain
