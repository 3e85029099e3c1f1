#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {

const VectorLoops& vector_loops() {
#if defined(__x86_64__)
  static const VectorLoops& best =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
          ? avx512_loops()
      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2_loops()
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
      &vector_loops() == &avx512_loops() && __builtin_cpu_supports("avx512bf16")
          ? avx512_bf16_loops()
          : vector_loops().bf16;
  return best;
#else
  return vector_loops().bf16;
#endif
}

}  // namespace pipetrain::cpu
