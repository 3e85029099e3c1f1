// The vector loops for any machine.
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "backend/cpu/loops/vector_loops.hpp"

#define PIPETRAIN_LOOPS portable_loops
#include "backend/cpu/loops/vector_loops.inl"
