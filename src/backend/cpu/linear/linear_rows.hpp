// A linear layer over the rows of a sequence, [T, in] -> [T, out]: enough rows for the library's
// matrix products. Its weights are stored with their longer side first: transposed, [in][out], or
// plain, [out][in], if out > in. They are plain also if other layers share them
// (Problem::plain_weights), in which case vectors are handled as rows too.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

bool is_over_rows(const Problem& problem);
std::unique_ptr<Kernel> make_linear_rows(const Linear& spec, Problem problem);
ParameterLayout linear_rows_layout(const Linear& spec, const Problem& problem, int parameter);

}  // namespace pipetrain::cpu
