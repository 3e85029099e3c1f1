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

}  // namespace pipetrain::cpu
