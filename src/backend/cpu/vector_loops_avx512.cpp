// The vector loops with AVX-512.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/cpu/vector_loops.hpp"

#if defined(__x86_64__)
#pragma GCC target("arch=skylake-avx512,prefer-vector-width=512")
#define PIPETRAIN_LOOPS avx512_loops
#include "backend/cpu/vector_loops.inl"
#endif
