// One optimizer step over one parameter, and the norm that clipping needs.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain::cpu {

void update(const UpdateRule& rule, const UpdateArguments& arguments);
void combine(const Combination& combination);
void add_up(const Summation& summation);
double sum_of_squares(const float* values, std::int64_t elements);

}  // namespace pipetrain::cpu
