// Weight gradients of convolutions of small images, 16 outputs to a vector. Included by
// vector_loops.inl.

struct Span {  // the outputs whose tap is inside the image
  std::int64_t begin, end;
};
PIPETRAIN_INLINE Span inside(std::int64_t tap, std::int64_t padding, std::int64_t stride,
                             std::int64_t in, std::int64_t out) {
  const std::int64_t first = greater(padding - tap, 0), last = in - 1 + padding - tap;
  return {(first + stride - 1) / stride, last < 0 ? 0 : lesser(last / stride + 1, out)};
}

constexpr int kTapInputs = kSums >= kLanes ? kLanes : kSums >= 4 ? 4 : 2;

PIPETRAIN_INLINE Vector term(const float* from) { return load(from); }
PIPETRAIN_INLINE Vector plus_product(const Vector& sum, float x, const Vector& dy) {
  return sum + x * dy;
}
#ifdef __AVX512BF16__
PIPETRAIN_INLINE Unsigned term(const Bf16Pair* from) { return read<Unsigned>(&from->bits); }
PIPETRAIN_INLINE Vector plus_product(const Vector& sum, Bf16Pair x, const Unsigned& dy) {
  const auto twice = (__m512bh)_mm512_set1_epi32(static_cast<std::int32_t>(x.bits));
  return (Vector)_mm512_dpbf16_ps((__m512)sum, twice, (__m512bh)dy);
}

void pair_up(const Bf16* first, const Bf16* second, Bf16Pair* pairs, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    Unsigned both = convert<Unsigned>(read<Halves>(&first[i].bits));
    if (second) both = both | convert<Unsigned>(read<Halves>(&second[i].bits)) << 16;
    write(&pairs[i].bits, both);
  }
}
#endif

// The sums of a tap, 16 outputs for some inputs, stay in registers over all samples and pixels.
// With few samples a tap ends before the next one's sums have arrived from memory, so they are
// prefetched.
template <class Term>
PIPETRAIN_INLINE void small_images_tap(const SmallImagesLoop& l, std::int64_t row,
                                       std::int64_t column, const Term* x, const Term* dy,
                                       float* w) {
  const Span ys = inside(row, l.padding[0], l.stride[0], l.in_height, l.out_height),
             xs = inside(column, l.padding[1], l.stride[1], l.in_width, l.out_width);
  Vector sum[kTapInputs];
#pragma GCC unroll 16
  for (int c = 0; c < kTapInputs; ++c) sum[c] = l.accumulate ? load(w + c * kLanes) : Vector{};
#pragma GCC unroll 16
  for (int c = 0; c < kTapInputs; ++c) prefetch_to_write(w + (2 * kTapInputs + c) * kLanes);
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t oy = ys.begin; oy < ys.end; ++oy) {
      const std::int64_t iy = oy * l.stride[0] + row - l.padding[0];
      const Term* pixels =
          x + ((n * l.in_height + iy) * l.in_width + column - l.padding[1]) * kLanes;
      const Term* gradients = dy + (n * l.out_height + oy) * l.out_width * kLanes;
      for (std::int64_t ox = xs.begin; ox < xs.end; ++ox) {
        const auto g = term(gradients + ox * kLanes);
        const Term* pixel = pixels + ox * l.stride[1] * kLanes;
#pragma GCC unroll 16
        for (int c = 0; c < kTapInputs; ++c) sum[c] = plus_product(sum[c], pixel[c], g);
      }
    }
#pragma GCC unroll 16
  for (int c = 0; c < kTapInputs; ++c) store(w + c * kLanes, sum[c]);
}

template <class Term>
void small_images_weight(const SmallImagesLoop& loop, const Term* x, const Term* dy,
                         float* weights) {
  const SmallImagesLoop l = loop;  // a copy that no store can change
  for (std::int64_t row = 0; row < l.kernel[0]; ++row)
    for (std::int64_t column = 0; column < l.kernel[1]; ++column)
      for (std::int64_t c = 0; c < kLanes; c += kTapInputs)
        small_images_tap(l, row, column, x + c, dy,
                         weights + ((row * l.kernel[1] + column) * kLanes + c) * kLanes);
}
