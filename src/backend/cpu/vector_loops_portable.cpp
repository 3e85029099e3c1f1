// The vector loops for any machine.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/cpu/vector_loops.hpp"

#define PIPETRAIN_LOOPS portable_loops
#include "backend/cpu/vector_loops.inl"
