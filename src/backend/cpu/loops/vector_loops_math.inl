// exp, tanh and sums of lanes. Included by vector_loops.inl.

// For each lane: is it one of the first `lanes`?
PIPETRAIN_INLINE auto is_before(std::int64_t lanes) {
  constexpr std::int32_t index[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return read<Ints>(index) < static_cast<std::int32_t>(lanes);
}

// Keeps the lanes that are in use; zeros in the others.
PIPETRAIN_INLINE Vector kept_lanes(const Whole&, const Vector& v) { return v; }
PIPETRAIN_INLINE Vector kept_lanes(const Part& part, const Vector& v) {
  return select(is_before(part.lanes), v, Vector{});
}

// Combines the two halves of v, then their halves, down to one lane.
template <class V, class Both>
PIPETRAIN_INLINE float folded(const V& v, const Both& both) {
  constexpr int lanes = lane_count<V>;
  if constexpr (lanes > 4) {
    return folded(both(low_half(v), high_half(v)), both);
  } else {
    const V pairs = both(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
    return both(pairs, __builtin_shufflevector(pairs, pairs, 1, 0, 3, 2))[0];
  }
}
PIPETRAIN_INLINE float sum_lanes(const Vector& lanes) {
  return folded(
      lanes, [](const auto& a, const auto& b) __attribute__((always_inline)) { return a + b; });
}
template <class V>
PIPETRAIN_INLINE V larger(const V& a, const V& b) {
  return select(a > b, a, b);
}
PIPETRAIN_INLINE float largest_lane(const Vector& lanes) {
  return folded(
      lanes,
      [](const auto& a, const auto& b) __attribute__((always_inline)) { return larger(a, b); });
}

// exp(x) = 2^n exp(r), with n the integer nearest to x / log(2) and the series of exp up to the
// seventh power, exact up to rounding for |r| <= log(2) / 2. Clamped to exp(-87) below -87 and to
// exp(88) above 88; a NaN stays a NaN.
PIPETRAIN_INLINE Vector exp_of(const Vector& any) {
  const Vector bounded = select(any < -87.0f, Vector{} - 87.0f, any);
  const Vector x = select(bounded > 88.0f, Vector{} + 88.0f, bounded);
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it drops the fraction
  const Vector shifted = x * 1.44269504088896341f + to_integer;
  const Vector n = shifted - to_integer;
  const Vector r = (x - n * 0.693145751953125f) - n * 1.42860682030941723e-6f;  // log(2) in two
  Vector p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const Vector power = bits_as<Vector>((bits_as<Ints>(shifted) << 23) + 0x3F800000);
  return p * power;
}

PIPETRAIN_INLINE Vector sigmoid_of(const Vector& x) { return 1.0f / (1.0f + exp_of(-x)); }

// Uses its series up to the ninth power where 1 - exp(-2 |x|) would lose digits.
PIPETRAIN_INLINE Vector tanh_of(const Vector& x) {
  const Vector size = select(x < 0.0f, -x, x), power = exp_of(-2.0f * size);
  const Vector far = (1.0f - power) / (1.0f + power), square = x * x;
  Vector p = square * (62.0f / 2835) - 17.0f / 315;
  p = p * square + 2.0f / 15;
  p = p * square - 1.0f / 3;
  const Vector near = x + x * square * p;
  return select(size < 0.25f, near, select(x < 0.0f, -far, far));
}
