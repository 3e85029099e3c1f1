// One optimizer step over one parameter, with PyTorch's formulas.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain::reference {

void update(const UpdateRule& rule, const UpdateArguments& arguments);
void combine(const Combination& combination);
void add_up(const Summation& summation);

}  // namespace pipetrain::reference
