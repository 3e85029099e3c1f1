// The vector loops with AVX2; meson.build compiles this file for that instruction set.
#include <immintrin.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "backend/cpu/loops/vector_loops.hpp"

#define PIPETRAIN_LOOPS avx2_loops
#include "backend/cpu/loops/vector_loops.inl"
