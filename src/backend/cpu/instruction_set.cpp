#include "backend/cpu/instruction_set.hpp"

#include <dnnl.h>

namespace pipetrain::cpu {
namespace {

[[maybe_unused]] bool library_allows(dnnl_cpu_isa_t wanted) {
  const dnnl_cpu_isa_t allowed = dnnl_get_effective_cpu_isa();  // both are bit sets
  return allowed == dnnl_cpu_isa_default || (allowed & wanted) == wanted;
}

InstructionSet find() {
#if defined(__x86_64__)
  if (library_allows(dnnl_cpu_isa_avx512_core) && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return library_allows(dnnl_cpu_isa_avx512_core_bf16) && __builtin_cpu_supports("avx512bf16")
               ? InstructionSet::Avx512Bf16
               : InstructionSet::Avx512;
  if (library_allows(dnnl_cpu_isa_avx2) && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma"))
    return InstructionSet::Avx2;
#endif
  return InstructionSet::Portable;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet found = find();
  return found;
}

}  // namespace pipetrain::cpu
