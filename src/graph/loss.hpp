// What training makes small.
#pragma once

#include <cstdint>

namespace pipetrain {

enum class Loss { CrossEntropy, Mse };
constexpr std::int32_t kNoLabel = -1;  // of cross_entropy: nothing is asked for here

}  // namespace pipetrain
