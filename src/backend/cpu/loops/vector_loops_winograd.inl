// 3 x 3 convolutions by Winograd F(2x2, 3x3). The transforms are sums and differences of whole
// vectors of 16 channels; between them, each of the 16 points is a matrix product. The weight
// gradient is the forward's adjoint: the same input transform, and the output transform transposed.
// Included by vector_loops.inl.

// d -> B^T d B, for the 4 x 4 inputs of a tile.
PIPETRAIN_INLINE void winograd_transform_inputs(Vector (&d)[4][4]) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vector a = d[0][j], b = d[1][j], c = d[2][j], e = d[3][j];
    d[0][j] = a - c;
    d[1][j] = b + c;
    d[2][j] = c - b;
    d[3][j] = b - e;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Vector a = d[i][0], b = d[i][1], c = d[i][2], e = d[i][3];
    d[i][0] = a - c;
    d[i][1] = b + c;
    d[i][2] = c - b;
    d[i][3] = b - e;
  }
}

struct TilePlace {
  std::int64_t sample, row, column;  // of its first output
};
PIPETRAIN_INLINE TilePlace winograd_place(const WinogradLoop& l, std::int64_t tile) {
  const std::int64_t columns = l.width / 2, of_image = l.height / 2 * columns,
                     in_image = tile % of_image;
  return {tile / of_image, in_image / columns * 2, in_image % columns * 2};
}

// The transformed inputs of tiles, for 16 channels: x points to these channels in sample 0.
PIPETRAIN_INLINE void winograd_input_tiles(const WinogradLoop& l, const float* x,
                                           std::int64_t begin, std::int64_t end, float* to,
                                           std::int64_t tile_stride, std::int64_t point_stride) {
  const std::int64_t sample_stride = l.channels * l.height * l.width;
  for (std::int64_t t = begin; t < end; ++t, to += tile_stride) {
    const TilePlace at = winograd_place(l, t);
    const std::int64_t y = at.row - 1, first = at.column - 1;
    const float* image = x + at.sample * sample_stride;
    const bool is_inside = y >= 0 && y + 4 <= l.height && first >= 0 && first + 4 <= l.width;
    Vector d[4][4];
    if (is_inside) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          d[i][j] = load(image + ((y + i) * l.width + first + j) * kLanes);
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const bool is_there =
              y + i >= 0 && y + i < l.height && first + j >= 0 && first + j < l.width;
          d[i][j] = is_there ? load(image + ((y + i) * l.width + first + j) * kLanes) : Vector{};
        }
    }
    winograd_transform_inputs(d);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) store(to + (i * 4 + j) * point_stride, d[i][j]);
  }
}
void winograd_inputs(const WinogradLoop& loop, const float* x, std::int64_t begin, std::int64_t end,
                     float* points, std::int64_t point_stride) {
  winograd_input_tiles(loop, x, begin, end, points, kLanes, point_stride);
}

// dy -> A dy A^T, for the 2 x 2 output gradients of tiles.
void winograd_gradients(const WinogradLoop& loop, const float* dy, std::int64_t begin,
                        std::int64_t end, float* points, std::int64_t point_stride) {
  const WinogradLoop l = loop;
  const std::int64_t sample_stride = l.outputs * l.height * l.width;
  for (std::int64_t t = begin; t < end; ++t, points += kWinogradPanel) {
    const TilePlace at = winograd_place(l, t);
    const float* upper = dy + at.sample * sample_stride + (at.row * l.width + at.column) * kLanes;
    const float* lower = upper + l.width * kLanes;
    const Vector g[2][2] = {{load(upper), load(upper + kLanes)},
                            {load(lower), load(lower + kLanes)}};
    const Vector rows[4][2] = {{g[0][0], g[0][1]},
                               {g[0][0] + g[1][0], g[0][1] + g[1][1]},
                               {g[0][0] - g[1][0], g[0][1] - g[1][1]},
                               {-g[1][0], -g[1][1]}};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      float* const to = points + i * 4 * point_stride;
      store(to, rows[i][0]);
      store(to + point_stride, rows[i][0] + rows[i][1]);
      store(to + 2 * point_stride, rows[i][0] - rows[i][1]);
      store(to + 3 * point_stride, -rows[i][1]);
    }
  }
}

// m -> A^T m A: each output is a sum of three points in either dimension.
PIPETRAIN_INLINE void winograd_outputs(const Vector (&m)[4][4], Vector (&y)[2][2]) {
  Vector rows[2][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    rows[0][j] = m[0][j] + m[1][j] + m[2][j];
    rows[1][j] = m[1][j] - m[2][j] - m[3][j];
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    y[i][0] = rows[i][0] + rows[i][1] + rows[i][2];
    y[i][1] = rows[i][1] - rows[i][2] - rows[i][3];
  }
}

PIPETRAIN_INLINE void winograd_output_tiles(const WinogradLoop& l, std::int64_t block,
                                            const float* sums, const float* bias, float* y,
                                            std::int64_t begin, std::int64_t end) {
  const std::int64_t point_stride = (end - begin) * kWinogradPanel;
  const Vector shift = bias ? load(bias + block * kLanes) : Vector{};
  for (std::int64_t t = begin; t < end; ++t, sums += kWinogradPanel) {
    Vector m[4][4], outputs[2][2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) m[i][j] = load(sums + (i * 4 + j) * point_stride);
    winograd_outputs(m, outputs);
    const TilePlace at = winograd_place(l, t);
    const std::int64_t image = at.sample * l.outputs / kLanes + block;
    float* const to = y + ((image * l.height + at.row) * l.width + at.column) * kLanes;
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        const Vector v = outputs[i][j] + shift;
        store(to + (i * l.width + j) * kLanes, l.with_relu ? positive_part(v) : v);
      }
  }
}

// Padding that keeps the rows of a matrix of points off powers of two: caches have few ways.
constexpr std::int64_t kApart = kLanes;

void winograd_convolve(const WinogradLoop& loop, const float* x, const float* weights,
                       const float* bias, float* y, std::int64_t begin, std::int64_t end,
                       float* scratch) {
  const WinogradLoop l = loop;  // a copy that no store can change
  const std::int64_t tiles = end - begin, row = l.channels + kApart,
                     point_stride = tiles * row + kApart, panels = l.outputs / kWinogradPanel;
  float *const inputs = scratch, *const sums = inputs + kWinogradPoints * point_stride;
  for (std::int64_t c = 0; c < l.channels; c += kLanes)
    winograd_input_tiles(l, x + c * l.height * l.width, begin, end, inputs + c, row, point_stride);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t p = 0; p < kWinogradPoints; ++p)
      multiply({.a = inputs + p * point_stride,
                .a_row = row,
                .a_step = 1,
                .b = weights + (panel * kWinogradPoints + p) * l.channels * kWinogradPanel,
                .b_step = kWinogradPanel,
                .c = sums + p * tiles * kWinogradPanel,
                .c_row = kWinogradPanel},
               tiles, kWinogradPanel / kLanes, l.channels);
    for (std::int64_t b = 0; b < kWinogradPanel / kLanes; ++b)
      winograd_output_tiles(l, panel * (kWinogradPanel / kLanes) + b, sums + b * kLanes, bias, y,
                            begin, end);
  }
}

void winograd_products(const WinogradLoop& l, const float* inputs, const float* gradients,
                       std::int64_t tiles, std::int64_t gradient_stride, float* weights,
                       std::int64_t weight_stride) {
  for (std::int64_t panel = 0; panel < l.outputs / kWinogradPanel; ++panel)
    multiply({.a = inputs,
              .a_row = 1,
              .a_step = kLanes,
              .b = gradients + panel * gradient_stride,
              .b_step = kWinogradPanel,
              .c = weights + panel * weight_stride,
              .c_row = kWinogradPanel,
              .accumulate = true},
             kLanes, kWinogradPanel / kLanes, tiles);
}

// g -> G g G^T, for a block of weights; mirrored: for the input gradient, whose 16 rows are
// outputs.
void winograd_weights(const float* weights, bool mirrored, float* points,
                      std::int64_t point_stride) {
  constexpr std::int64_t kBlock = kLanes * kLanes;
  alignas(64) float block[kWinogradPoints * kLanes * kLanes];
  for (std::int64_t c = 0; c < kLanes; ++c) {
    Vector rows[4][3];
#pragma GCC unroll 3
    for (int s = 0; s < 3; ++s) {
      const Vector g0 = load(weights + s * kBlock + c * kLanes),
                   g1 = load(weights + (3 + s) * kBlock + c * kLanes),
                   g2 = load(weights + (6 + s) * kBlock + c * kLanes), even = (g0 + g2) * 0.5f,
                   odd = g1 * 0.5f;
      rows[0][s] = g0;
      rows[1][s] = even + odd;
      rows[2][s] = even - odd;
      rows[3][s] = g2;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vector even = (rows[i][0] + rows[i][2]) * 0.5f, odd = rows[i][1] * 0.5f;
      float* const to = block + i * 4 * kBlock + c * kLanes;
      store(to, rows[i][0]);
      store(to + kBlock, even + odd);
      store(to + 2 * kBlock, even - odd);
      store(to + 3 * kBlock, rows[i][2]);
    }
  }
  // Mirroring the taps swaps the first point with the last one, in either dimension.
  constexpr int kMirrored[4] = {3, 1, 2, 0};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      float* const to = points + (i * 4 + j) * point_stride;
      if (mirrored)
        transpose_tile(block + (kMirrored[i] * 4 + kMirrored[j]) * kBlock, kLanes, kLanes, to,
                       kWinogradPanel, kLanes);
      else
        for (std::int64_t c = 0; c < kLanes; ++c)
          store(to + c * kWinogradPanel, load(block + (i * 4 + j) * kBlock + c * kLanes));
    }
}

// u -> G^T u G, to a block of weights.
void winograd_weight_gradient(const float* points, std::int64_t point_stride, bool accumulate,
                              float* weights) {
  constexpr std::int64_t kBlock = kLanes * kLanes;
  for (std::int64_t c = 0; c < kLanes; ++c) {
    Vector rows[3][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const float* from = points + j * point_stride + c * kWinogradPanel;
      const Vector u0 = load(from), u1 = load(from + 4 * point_stride),
                   u2 = load(from + 8 * point_stride), u3 = load(from + 12 * point_stride),
                   even = (u1 + u2) * 0.5f;
      rows[0][j] = u0 + even;
      rows[1][j] = (u1 - u2) * 0.5f;
      rows[2][j] = even + u3;
    }
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) {
      const Vector even = (rows[r][1] + rows[r][2]) * 0.5f;
      const Vector taps[3] = {rows[r][0] + even, (rows[r][1] - rows[r][2]) * 0.5f,
                              even + rows[r][3]};
#pragma GCC unroll 3
      for (int s = 0; s < 3; ++s) {
        float* const to = weights + (r * 3 + s) * kBlock + c * kLanes;
        store(to, accumulate ? load(to) + taps[s] : taps[s]);
      }
    }
  }
}
