// What follows from the length of a training and is easily overlooked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/session.hpp"

namespace pipetrain {

// A part of a training that has been trained under another length.
struct EarlierLength {
  std::int64_t trained = 0;  // mini-batches
  std::int64_t total = 0;    // as many as were asked for
};

// Lines for the console: a warm-up that outlasts the training, steps to trace that it does not
// reach, and a learning rate that falls until the end where the end has moved.
std::vector<std::string> length_notes(const Config& config, const TrainingLength& length,
                                      const std::optional<EarlierLength>& earlier);

}  // namespace pipetrain
