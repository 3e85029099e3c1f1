// Writes into every instruction of a program the weights that it reads, and into every Update the
// version that it makes. The program has its updates, but no transfers yet.
//
// The walk is one fixed legal execution on a clock of slots. A forward takes one slot, as does a
// backward with its update (that of a whole mini-batch if gradients go together); each may use what
// earlier slots made. The order alone decides, never the clock of a machine.
#pragma once

#include <vector>

#include "base/indexed.hpp"
#include "versions/policy.hpp"

namespace pipetrain {

struct BindRule {
  MixRule mix = {};
  // Per stage: ReadContext::delay. Empty: 0 for all.
  Indexed<double, StageId> delays = {};
};

Program bind_versions(Program program, const VersionPolicy& policy, const BindRule& rule = {});

}  // namespace pipetrain
