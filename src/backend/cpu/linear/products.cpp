// The choice follows from the processor alone, never from timings, so that runs are reproducible.
#include "backend/cpu/linear/products.hpp"

#include <dnnl.h>

#include "backend/cpu/instruction_set.hpp"

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

// Intel's cores since Sapphire Rapids are fast with bf16 only in tiles (AMX), which do not support
// blocks of 16 channels. Their vector instruction for bf16 does half as many products as the one
// for f32.
Products products_here() {
  const bool slow = is_intel() && has(dnnl_cpu_isa_avx512_core_fp16);
  return has(dnnl_cpu_isa_avx512_core_bf16) && !slow ? Products::Bf16 : Products::F32;
}

}  // namespace pipetrain::cpu
