// The bodies of the vector loops, included once per instruction set. Vectors are the compiler's own
// type, which it splits where registers are shorter. No inline function of the standard library is
// called in these files: the linker could keep the copy of the wrong instruction set. So they are
// included in the anonymous namespace, a kind of loop each.
#pragma GCC diagnostic ignored "-Wpsabi"  // every vector argument below is inlined

#define PIPETRAIN_INLINE inline __attribute__((always_inline))
// The loop behind it: what it writes is what it reads at the same index, or memory of its own.
#if defined(__clang__)
#define PIPETRAIN_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PIPETRAIN_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace pipetrain::cpu {
namespace {

using Vector = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));
using Bytes = std::uint8_t __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(64)));
using HalfVector = float __attribute__((vector_size(32)));

PIPETRAIN_INLINE Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
PIPETRAIN_INLINE void store(float* to, const Vector& v) { std::memcpy(to, &v, sizeof v); }
PIPETRAIN_INLINE Vector load_some(const float* from, std::int64_t lanes) {
  Vector v{};
  std::memcpy(&v, from, static_cast<std::size_t>(lanes) * sizeof(float));
  return v;
}
PIPETRAIN_INLINE void store_some(float* to, const Vector& v, std::int64_t lanes) {
  std::memcpy(to, &v, static_cast<std::size_t>(lanes) * sizeof(float));
}
PIPETRAIN_INLINE Vector load_lanes(const float* from, std::int64_t lanes) {
  return lanes == kLanes ? load(from) : load_some(from, lanes);
}
PIPETRAIN_INLINE void store_lanes(float* to, const Vector& v, std::int64_t lanes) {
  if (lanes == kLanes)
    store(to, v);
  else
    store_some(to, v, lanes);
}
// A NaN stays one, so that divergence is seen.
PIPETRAIN_INLINE Vector positive_part(const Vector& v) { return v < 0.0f ? Vector{} : v; }
PIPETRAIN_INLINE Vector where_positive(const Vector& mask, const Vector& v) {
  return mask > 0.0f ? v : Vector{};
}
// GCC's own conversion goes by quarters of a vector and puts them together.
PIPETRAIN_INLINE Doubles widen(const HalfVector& v) {
#ifdef __AVX512F__
  return (Doubles)_mm512_maskz_cvtps_pd(static_cast<__mmask8>(-1), (__m256)v);
#else
  return __builtin_convertvector(v, Doubles);
#endif
}
PIPETRAIN_INLINE std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
PIPETRAIN_INLINE std::int64_t greater(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// What the others use.
#include "backend/cpu/vector_loops_sgd.inl"
#include "backend/cpu/vector_loops_transpose.inl"

#include "backend/cpu/vector_loops_batch_norm.inl"
#include "backend/cpu/vector_loops_elementwise.inl"
#include "backend/cpu/vector_loops_few_channels.inl"
#include "backend/cpu/vector_loops_linear.inl"
#include "backend/cpu/vector_loops_pool.inl"
#include "backend/cpu/vector_loops_update.inl"

}  // namespace

const VectorLoops& PIPETRAIN_LOOPS() {
  static constexpr VectorLoops loops = {
      .linear_forward = linear_forward,
      .linear_backward_input = linear_backward_input,
      .linear_backward_weight = linear_backward_weight,
      .linear_update = linear_update,
      .few_channels_forward = few_channels_forward,
      .few_channels_weight = few_channels_weight,
      .sum_pixels = sum_pixels,
      .relu_forward = relu_forward,
      .relu_backward = relu_backward,
      .add = add,
      .drop = drop,
      .moments = moments,
      .normalise = normalise,
      .gradient_sums = gradient_sums,
      .normalise_backward = normalise_backward,
      .max_pool = max_pool,
      .max_pool_backward = max_pool_backward,
      .avg_pool = avg_pool,
      .avg_pool_backward = avg_pool_backward,
      .transpose_tile = transpose_tile,
      .update = update,
      .combine = combine,
      .add_up = add_up,
      .sum_of_squares = sum_of_squares,
  };
  return loops;
}

}  // namespace pipetrain::cpu
