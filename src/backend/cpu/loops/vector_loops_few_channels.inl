// Convolutions of few channels, 16 outputs to a vector. Included by vector_loops.inl.

constexpr std::int64_t kTilePixels = kSums < 14 ? kSums : 14;
// Per tile of the weight gradient: neighbouring taps of a row, and channels of each.
constexpr std::int64_t kTapColumns = kSums >= 24 ? 3 : 1,
                       kTapChannels = kSums >= 24 ? kFewChannels : kSums;

// `Pixels` neighbouring pixels of a row x 16 outputs stay in registers while the sum runs.
template <int Pixels>
PIPETRAIN_INLINE void few_channels_tile(const FewChannelsLoop& l, const float* x, const float* w,
                                        const Vector& start, float* y) {
  Vector sum[Pixels];
  for (int i = 0; i < Pixels; ++i) sum[i] = start;
  for (std::int64_t row = 0; row < l.kernel[0]; ++row)
    for (std::int64_t column = 0; column < l.kernel[1]; ++column, w += kLanes * kLanes) {
      const float* pixel = x + (row * l.in_width + column) * kLanes;
      for (std::int64_t c = 0; c < l.channels; ++c) {
        const Vector weight = load(w + c * kLanes);
        for (int i = 0; i < Pixels; ++i) sum[i] += pixel[i * kLanes + c] * weight;
      }
    }
  for (int i = 0; i < Pixels; ++i)
    store(y + i * kLanes, l.with_relu ? positive_part(sum[i]) : sum[i]);
}

// The last tile of a row overlaps the previous one, and computes the shared values again.
template <int Pixels>
void few_channels_rows(const FewChannelsLoop& l, const float* x, const float* w, const float* bias,
                       float* y) {
  const std::int64_t taps = l.kernel[0] * l.kernel[1];
  for (std::int64_t block = 0; block < l.out_blocks; ++block)
    for (std::int64_t oy = 0; oy < l.out_height; ++oy)
      for (std::int64_t ox = 0; ox < l.out_width; ox += Pixels) {
        const std::int64_t from = lesser(ox, l.out_width - Pixels);
        few_channels_tile<Pixels>(l, x + (oy * l.in_width + from) * kLanes,
                                  w + block * taps * kLanes * kLanes,
                                  bias ? load(bias + block * kLanes) : Vector{},
                                  y + ((block * l.out_height + oy) * l.out_width + from) * kLanes);
      }
}

void few_channels_forward(const FewChannelsLoop& l, const float* x, const float* weights,
                          const float* bias, float* y) {
  const std::int64_t tiles = (l.out_width + kTilePixels - 1) / kTilePixels;
  const std::int64_t pixels = (l.out_width + tiles - 1) / tiles;
  with_number<kTilePixels>(pixels, [&]<int Pixels>(Number<Pixels>) {
    few_channels_rows<Pixels>(l, x, weights, bias, y);
  });
}

template <int Columns>
PIPETRAIN_INLINE void few_channels_taps(const FewChannelsLoop& l, const float* x, const float* dy,
                                        float* w) {
  Vector sum[Columns][kTapChannels] = {};
  for (std::int64_t oy = 0; oy < l.out_height; ++oy)
    for (std::int64_t ox = 0; ox < l.out_width; ++ox) {
      const Vector g = load(dy + (oy * l.out_width + ox) * kLanes);
      const float* pixel = x + (oy * l.in_width + ox) * kLanes;
      for (int column = 0; column < Columns; ++column)
        for (int c = 0; c < kTapChannels; ++c) sum[column][c] += pixel[column * kLanes + c] * g;
    }
  for (int column = 0; column < Columns; ++column)
    for (int c = 0; c < kTapChannels; ++c) {
      float* to = w + (column * kLanes + c) * kLanes;
      store(to, load(to) + sum[column][c]);
    }
}

void few_channels_weight(const FewChannelsLoop& l, std::int64_t out_block, std::int64_t row,
                         const float* x, const float* dy, float* weights) {
  x += row * l.in_width * kLanes;
  dy += out_block * l.out_height * l.out_width * kLanes;
  weights += (out_block * l.kernel[0] + row) * l.kernel[1] * kLanes * kLanes;
  for (std::int64_t column = 0; column < l.kernel[1]; column += kTapColumns)
    with_number<kTapColumns>(l.kernel[1] - column, [&]<int Columns>(Number<Columns>) {
      for (std::int64_t c = 0; c < l.channels; c += kTapChannels)
        few_channels_taps<Columns>(l, x + column * kLanes + c, dy,
                                   weights + (column * kLanes + c) * kLanes);
    });
}
