// What training minimises.
#pragma once

#include <cstdint>

namespace pipetrain {

enum class Loss { CrossEntropy, Mse };
constexpr std::int32_t kNoLabel = -1;  // cross_entropy: a position without a target

}  // namespace pipetrain
