// The bodies of the vector loops, included once per instruction set. Vectors are the compiler's own
// type, which it splits if registers are shorter. These files call no inline function of the
// standard library: the linker could keep the copy compiled for the wrong instruction set. So they
// are included in the anonymous namespace, one file per kind of loop. Loops over stored values are
// templates over their element, float or Bf16, which load() widens and store() rounds.
#pragma GCC diagnostic ignored "-Wpsabi"  // every vector argument below is inlined

#define PIPETRAIN_INLINE inline __attribute__((always_inline))
// The loop that follows writes either what it reads at the same index, or memory of its own.
#if defined(__clang__)
#define PIPETRAIN_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PIPETRAIN_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace pipetrain::cpu {
namespace {

#include "backend/cpu/loops/vector_loops_types.inl"

// GCC's own conversion handles halves or quarters of a register and puts them together.
PIPETRAIN_INLINE Unsigned zero_extended(const Halves& v) {
#if defined(__AVX512F__)
  return (Unsigned)_mm512_maskz_cvtepu16_epi32(static_cast<__mmask16>(-1), (__m256i)v);
#elif defined(__AVX2__)
  using Half = decltype(Unsigned::low);
  return {(Half)_mm256_cvtepu16_epi32((__m128i)v.low),
          (Half)_mm256_cvtepu16_epi32((__m128i)v.high)};
#else
  return convert<Unsigned>(v);
#endif
}
PIPETRAIN_INLINE Vector widened(const Halves& upper) {
  return bits_as<Vector>(zero_extended(upper) << 16);
}
PIPETRAIN_INLINE Halves rounded(const Vector& v) {
#ifdef __AVX512BF16__
  return (Halves)_mm512_cvtneps_pbh((__m512)v);
#else
  const Unsigned bits = bits_as<Unsigned>(v), upper = bits >> 16;
  const Unsigned nearest = (bits + 0x7FFF + (upper & 1)) >> 16;
  return convert<Halves>(select(v == v, nearest, upper | 0x40));
#endif
}

PIPETRAIN_INLINE Vector load(const float* from) { return read<Vector>(from); }
PIPETRAIN_INLINE void store(float* to, const Vector& v) { write(to, v); }
PIPETRAIN_INLINE Vector load_some(const float* from, std::int64_t lanes) {
  return read_some<Vector>(from, lanes);
}
PIPETRAIN_INLINE void store_some(float* to, const Vector& v, std::int64_t lanes) {
  write_some(to, v, lanes);
}
PIPETRAIN_INLINE Vector load(const Bf16* from) { return widened(read<Halves>(&from->bits)); }
PIPETRAIN_INLINE void store(Bf16* to, const Vector& v) { write(&to->bits, rounded(v)); }
PIPETRAIN_INLINE Vector load_some(const Bf16* from, std::int64_t lanes) {
  return widened(read_some<Halves>(&from->bits, lanes));
}
PIPETRAIN_INLINE void store_some(Bf16* to, const Vector& v, std::int64_t lanes) {
  write_some(&to->bits, rounded(v), lanes);
}
template <class E>
PIPETRAIN_INLINE Vector load_lanes(const E* from, std::int64_t lanes) {
  return lanes == kLanes ? load(from) : load_some(from, lanes);
}
template <class E>
PIPETRAIN_INLINE void store_lanes(E* to, const Vector& v, std::int64_t lanes) {
  if (lanes == kLanes)
    store(to, v);
  else
    store_some(to, v, lanes);
}
struct Whole {  // all 16 lanes
  template <class E>
  PIPETRAIN_INLINE Vector get(const E* from) const {
    return load(from);
  }
  template <class E>
  PIPETRAIN_INLINE void put(E* to, const Vector& v) const {
    store(to, v);
  }
  PIPETRAIN_INLINE Bytes get(const std::uint8_t* from) const { return read<Bytes>(from); }
  PIPETRAIN_INLINE void put(std::uint8_t* to, const Bytes& bytes) const { write(to, bytes); }
};
struct Part {  // the last lanes of a vector
  std::int64_t lanes;
  template <class E>
  PIPETRAIN_INLINE Vector get(const E* from) const {
    return load_some(from, lanes);
  }
  template <class E>
  PIPETRAIN_INLINE void put(E* to, const Vector& v) const {
    store_some(to, v, lanes);
  }
  PIPETRAIN_INLINE Bytes get(const std::uint8_t* from) const {
    return read_some<Bytes>(from, lanes);
  }
  PIPETRAIN_INLINE void put(std::uint8_t* to, const Bytes& bytes) const {
    write_some(to, bytes, lanes);
  }
};

// A NaN stays a NaN, so that divergence is noticed.
PIPETRAIN_INLINE Vector positive_part(const Vector& v) { return select(v < 0.0f, Vector{}, v); }
PIPETRAIN_INLINE Vector where_positive(const Vector& mask, const Vector& v) {
  return select(mask > 0.0f, v, Vector{});
}
// GCC's own conversion handles quarters of a vector and puts them together.
PIPETRAIN_INLINE Doubles widen(const HalfVector& v) {
#ifdef __AVX512F__
  return (Doubles)_mm512_maskz_cvtps_pd(static_cast<__mmask8>(-1), (__m256)v);
#else
  return convert<Doubles>(v);
#endif
}
PIPETRAIN_INLINE void prefetch_to_write(const float* from) { __builtin_prefetch(from, 1); }
PIPETRAIN_INLINE std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
PIPETRAIN_INLINE std::int64_t greater(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// The files that the others use.
#include "backend/cpu/loops/vector_loops_math.inl"
#include "backend/cpu/loops/vector_loops_product.inl"
#include "backend/cpu/loops/vector_loops_transpose.inl"

#include "backend/cpu/loops/vector_loops_batch_norm.inl"
#include "backend/cpu/loops/vector_loops_elementwise.inl"
#include "backend/cpu/loops/vector_loops_functions.inl"
#include "backend/cpu/loops/vector_loops_pool.inl"
#include "backend/cpu/loops/vector_loops_sequence.inl"
// Uses loops of the file before.
#include "backend/cpu/loops/vector_loops_attention.inl"

#include "backend/cpu/loops/vector_loops_additive.inl"
#include "backend/cpu/loops/vector_loops_lstm.inl"

template <class E>
constexpr SequenceLoops<E> sequence_loops_of = {
    .layer_norm = layer_norm<E>,
    .layer_norm_backward = layer_norm_backward<E>,
    .layer_norm_weight = layer_norm_weight<E>,
    .add_table = add_table<E>,
    .scale_row = scale_row<E>,
    .add_scaled = add_scaled<E>,
    .column_sums = column_sums<E>,
    .attention = attention<E>,
    .attention_backward = attention_backward<E>,
    .additive_attention = additive_attention<E>,
    .additive_attention_backward = additive_attention_backward<E>,
    .lstm_step = lstm_step<E>,
    .lstm_step_backward = lstm_step_backward<E>,
    .largest = largest<E>,
    .sum_of_exps = sum_of_exps<E>,
    .exps = exps<E>,
    .not_below = not_below<E>,
};

template <class E>
constexpr ElementLoops<E> loops_of_element = {
    .relu_forward = relu_forward<E>,
    .relu_backward = relu_backward<E>,
    .add = add<E>,
    .drop = drop<E>,
    .moments = moments<E>,
    .normalise = normalise<E>,
    .gradient_sums = gradient_sums<E>,
    .normalise_backward = normalise_backward<E>,
    .max_pool = max_pool<E>,
    .max_pool_backward = max_pool_backward<E>,
    .avg_pool = avg_pool<E>,
    .avg_pool_backward = avg_pool_backward<E>,
    .transpose_tile = transpose_tile<E>,
    .add_rows = add_rows<E>,
    .widen = widen<E>,
    .narrow = narrow<E>,
    .functions = functions_of<E>(static_cast<const ElementwiseSpec*>(nullptr)),
    .sequences = sequence_loops_of<E>,
};

#ifdef PIPETRAIN_LOOPS
// Loops that exist for f32 only.
#include "backend/cpu/loops/vector_loops_sgd.inl"

#include "backend/cpu/loops/vector_loops_dropout.inl"
#include "backend/cpu/loops/vector_loops_few_channels.inl"
#include "backend/cpu/loops/vector_loops_linear.inl"
#include "backend/cpu/loops/vector_loops_linear_weight.inl"
#include "backend/cpu/loops/vector_loops_rows_weight.inl"
#include "backend/cpu/loops/vector_loops_update.inl"
#include "backend/cpu/loops/vector_loops_winograd.inl"
#endif
#include "backend/cpu/loops/vector_loops_small_images.inl"

}  // namespace

#ifdef PIPETRAIN_LOOPS
const VectorLoops& PIPETRAIN_LOOPS() {
  static constexpr VectorLoops loops = {
      .linear_forward = linear_forward,
      .linear_backward_input = linear_backward_input,
      .linear_backward_weight = linear_backward_weight,
      .rows_weight = kHoldsTile ? rows_weight : nullptr,
      .linear_update = linear_update,
      .few_channels_forward = few_channels_forward,
      .few_channels_weight = few_channels_weight,
      .small_images_weight = small_images_weight<float>,
      .winograd_weights = winograd_weights,
      .winograd_convolve = winograd_convolve,
      .winograd_inputs = winograd_inputs,
      .winograd_gradients = winograd_gradients,
      .winograd_products = winograd_products,
      .winograd_weight_gradient = winograd_weight_gradient,
      .keep_elements = keep_elements,
      .update = update,
      .combine = combine,
      .add_up = add_up,
      .sum_of_squares = sum_of_squares,
      .f32 = loops_of_element<float>,
      .bf16 = loops_of_element<Bf16>,
  };
  return loops;
}
#else
const ElementLoops<Bf16>& PIPETRAIN_BF16_LOOPS() { return loops_of_element<Bf16>; }

const Bf16ProductLoops& PIPETRAIN_BF16_PRODUCT_LOOPS() {
  static constexpr Bf16ProductLoops loops = {
      .pair_up = pair_up,
      .small_images_weight = small_images_weight<Bf16Pair>,
  };
  return loops;
}
#endif

}  // namespace pipetrain::cpu
