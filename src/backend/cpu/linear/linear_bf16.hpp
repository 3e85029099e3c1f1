// A linear layer with bf16 products (Problem::multiplies_bf16). Its weights are stored plain in
// f32, [out][in], with `in` in the order in which the input is stored.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

std::unique_ptr<Kernel> make_linear_bf16(const Linear& spec, Problem problem);
ParameterLayout linear_bf16_layout(const Linear& spec, const Problem& problem, int parameter);
std::size_t packed_bf16_bytes(const Linear& spec, const Problem& problem, Pass pass);
void pack_bf16(const Linear& spec, const Problem& problem, Pass pass, const float* weights,
               void* packed);

}  // namespace pipetrain::cpu
