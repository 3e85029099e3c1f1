// Weight gradients of convolutions of small images, 16 outputs to a vector. Included by
// vector_loops.inl.

struct Span {  // of the outputs whose tap lies inside the image
  std::int64_t begin, end;
};
PIPETRAIN_INLINE Span inside(std::int64_t tap, std::int64_t padding, std::int64_t stride,
                             std::int64_t in, std::int64_t out) {
  const std::int64_t first = greater(padding - tap, 0), last = in - 1 + padding - tap;
  return {(first + stride - 1) / stride, last < 0 ? 0 : lesser(last / stride + 1, out)};
}

constexpr int kTapInputs = kSums >= kLanes ? kLanes : kSums >= 4 ? 4 : 2;

// The sums of a tap stay in registers over all samples and pixels: 16 outputs of some inputs.
PIPETRAIN_INLINE void small_images_tap(const SmallImagesLoop& l, std::int64_t row,
                                       std::int64_t column, const float* x, const float* dy,
                                       float* w) {
  const Span ys = inside(row, l.padding[0], l.stride[0], l.in_height, l.out_height),
             xs = inside(column, l.padding[1], l.stride[1], l.in_width, l.out_width);
  Vector sum[kTapInputs];
#pragma GCC unroll 16
  for (int c = 0; c < kTapInputs; ++c) sum[c] = l.accumulate ? load(w + c * kLanes) : Vector{};
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t oy = ys.begin; oy < ys.end; ++oy) {
      const std::int64_t iy = oy * l.stride[0] + row - l.padding[0];
      const float* pixels =
          x + ((n * l.in_height + iy) * l.in_width + column - l.padding[1]) * kLanes;
      const float* gradients = dy + (n * l.out_height + oy) * l.out_width * kLanes;
      for (std::int64_t ox = xs.begin; ox < xs.end; ++ox) {
        const Vector g = load(gradients + ox * kLanes);
        const float* pixel = pixels + ox * l.stride[1] * kLanes;
#pragma GCC unroll 16
        for (int c = 0; c < kTapInputs; ++c) sum[c] += pixel[c] * g;
      }
    }
#pragma GCC unroll 16
  for (int c = 0; c < kTapInputs; ++c) store(w + c * kLanes, sum[c]);
}

void small_images_weight(const SmallImagesLoop& loop, const float* x, const float* dy,
                         float* weights) {
  const SmallImagesLoop l = loop;  // a copy that no store can change
  for (std::int64_t row = 0; row < l.kernel[0]; ++row)
    for (std::int64_t column = 0; column < l.kernel[1]; ++column)
      for (std::int64_t c = 0; c < kLanes; c += kTapInputs)
        small_images_tap(l, row, column, x + c, dy,
                         weights + ((row * l.kernel[1] + column) * kLanes + c) * kLanes);
}
