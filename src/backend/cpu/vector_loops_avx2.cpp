// The vector loops with AVX2.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/cpu/vector_loops.hpp"

#if defined(__x86_64__)
#pragma GCC target("arch=haswell")
#define PIPETRAIN_LOOPS avx2_loops
#include "backend/cpu/vector_loops.inl"
#endif
