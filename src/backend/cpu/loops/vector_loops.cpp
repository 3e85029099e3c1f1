#include "backend/cpu/loops/vector_loops.hpp"

#include "backend/cpu/instruction_set.hpp"
#include "base/check.hpp"

namespace pipetrain::cpu {

const VectorLoops& vector_loops() {
#if defined(__x86_64__)
  static const VectorLoops& best = instruction_set() >= InstructionSet::Avx512 ? avx512_loops()
                                   : instruction_set() == InstructionSet::Avx2 ? avx2_loops()
                                                                               : portable_loops();
  return best;
#else
  return portable_loops();
#endif
}

template <>
const ElementLoops<float>& element_loops<float>() {
  return vector_loops().f32;
}

template <>
const ElementLoops<Bf16>& element_loops<Bf16>() {
#if defined(__x86_64__)
  static const ElementLoops<Bf16>& best =
      instruction_set() == InstructionSet::Avx512Bf16 ? avx512_bf16_loops() : vector_loops().bf16;
  return best;
#else
  return vector_loops().bf16;
#endif
}

const Bf16ProductLoops& bf16_product_loops() {
#if defined(__x86_64__)
  if (instruction_set() == InstructionSet::Avx512Bf16) return avx512_bf16_product_loops();
#endif
  PIPETRAIN_CHECK(false, "this machine has no instruction for products of bf16");
}

}  // namespace pipetrain::cpu
