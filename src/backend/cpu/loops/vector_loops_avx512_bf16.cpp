// The loops over bf16 values with AVX-512 and its bf16 instructions; meson.build compiles this file
// for that instruction set.
#include <immintrin.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "backend/cpu/loops/vector_loops.hpp"

#define PIPETRAIN_BF16_LOOPS avx512_bf16_loops
#define PIPETRAIN_BF16_PRODUCT_LOOPS avx512_bf16_product_loops
#include "backend/cpu/loops/vector_loops.inl"
