// The vector loops with AVX2: meson.build gives this file its instruction set.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/cpu/vector_loops.hpp"

#define PIPETRAIN_LOOPS avx2_loops
#include "backend/cpu/vector_loops.inl"
