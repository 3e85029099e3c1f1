// The kernel of layers that change nothing: identity, most flattens, dropout at evaluation.
#pragma once

#include "backend/cpu/kernel.hpp"

namespace pipetrain::cpu {

std::unique_ptr<Kernel> make_alias(Problem problem);

}  // namespace pipetrain::cpu
