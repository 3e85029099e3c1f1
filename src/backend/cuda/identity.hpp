// The kernel of layers that change nothing: identity, flatten, dropout at evaluation.
#pragma once

#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {

std::unique_ptr<Kernel> make_alias(Problem problem);

}  // namespace pipetrain::cuda
