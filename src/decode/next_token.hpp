// The next token, drawn from what a language model puts out for a position.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.hpp"

namespace pipetrain {

struct Sampling {
  double temperature = 1;  // outputs are divided by it; 0: always the most likely token
  std::int64_t top_k = 0;  // only this many of the most likely tokens are drawn; 0: all
};

// From softmax(outputs / temperature); of equal outputs the first ones are the more likely. Takes
// one number from `random`, none where the temperature is 0. Output that is not finite is never
// drawn; where none is, the answer is -1.
std::int32_t next_token(std::span<const float> outputs, const Sampling& sampling, Random& random);

}  // namespace pipetrain
