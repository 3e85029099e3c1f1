// Writes into every instruction of a program the weights that it reads, and into every Update the
// version that it makes. The program has its updates, but no transfers yet.
//
// The walk is one fixed legal execution: the workers in turn, one instruction each, those that lack
// an input passed over. The order alone decides, never a clock.
#pragma once

#include "versions/policy.hpp"

namespace pipetrain {

Program bind_versions(Program program, const VersionPolicy& policy);

}  // namespace pipetrain
