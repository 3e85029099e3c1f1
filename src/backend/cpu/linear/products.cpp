// The choice follows from the processor alone, never from timings, so that runs are reproducible.
#include "backend/cpu/linear/products.hpp"

#include <dnnl.h>

#include <type_traits>
#include <variant>

#include "backend/cpu/instruction_set.hpp"
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/linear/linear_rows.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

bool has(dnnl_cpu_isa_t instructions) {
  return (dnnl_get_effective_cpu_isa() & instructions) == instructions;
}

bool is_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

}  // namespace

bool can_multiply_bf16() { return has_avx512(); }
bool has_tiles() { return has(dnnl_cpu_isa_avx512_core_amx); }

// On Intel's cores since Sapphire Rapids the vector instruction for bf16 does half as many products
// as the one for f32.
Products products_here() {
  if (has_tiles()) return Products::Tiles;
  const bool slow = is_intel() && has(dnnl_cpu_isa_avx512_core_fp16);
  return has(dnnl_cpu_isa_avx512_core_bf16) && !slow ? Products::Bf16 : Products::F32;
}

// Tiles do not support blocks of 16 channels, so convolutions have none; and a linear layer of one
// vector per sample has too few rows to pay for packing its weights at every version.
bool multiplies_bf16(const Problem& problem, Products products) {
  if (products == Products::F32 || problem.inputs[0].element != Element::Bf16) return false;
  const bool tiles = products == Products::Tiles;
  return std::visit(
      [&](const auto& spec) {
        using Spec = std::decay_t<decltype(spec)>;
        if (tiles && std::is_same_v<Spec, Conv2d>) return false;
        if (tiles && std::is_same_v<Spec, Linear>) return is_over_rows(problem);
        if constexpr (requires { has_bf16_products(spec, problem); })
          return has_bf16_products(spec, problem);
        return false;
      },
      problem.layer->spec);
}

}  // namespace pipetrain::cpu
