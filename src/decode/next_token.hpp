// The next token, drawn from a language model's outputs for one position.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.hpp"

namespace pipetrain {

struct Sampling {
  double temperature = 1;  // divides the outputs; 0: always the most likely token
  std::int64_t top_k = 0;  // draw only from this many of the most likely tokens; 0: all
};

// Draws from softmax(outputs / temperature); of equal outputs the first ones count as more likely.
// Takes one number from `random`, or none if the temperature is 0. Never draws an output that is
// not finite; returns -1 if there is no finite one.
std::int32_t next_token(std::span<const float> outputs, const Sampling& sampling, Random& random);

}  // namespace pipetrain
