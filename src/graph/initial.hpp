// How training starts: the first value of every element of a parameter.
#pragma once

#include <cstdint>
#include <vector>

namespace pipetrain {

struct Parameter;

// Plain row-major values in PyTorch's layout: a function of (seed, parameter name) alone, so
// neither a cut of the model nor another layer changes them.
std::vector<float> initial_values(const Parameter& parameter, std::uint64_t seed);

}  // namespace pipetrain
