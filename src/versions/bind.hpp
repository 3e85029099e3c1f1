// Writes into every instruction of a program the weights that it reads, and into every Update the
// version that it makes. The program has its updates, but no transfers yet.
//
// The walk is one fixed legal execution by a clock of slots: a forward takes one, a backward with
// its update one (that of a whole mini-batch where gradients go together), and may use what earlier
// slots made. The order alone decides, never the clock of a machine.
#pragma once

#include <vector>

#include "base/indexed.hpp"
#include "versions/policy.hpp"

namespace pipetrain {

struct BindRule {
  MixRule mix = {};
  // Per stage: ReadContext::delay. Empty: none.
  Indexed<double, StageId> delays = {};
};

Program bind_versions(Program program, const VersionPolicy& policy, const BindRule& rule = {});

}  // namespace pipetrain
