// Linear layers: tiles of Rows samples x 32 outputs stay in registers while the sum runs. Included
// by vector_loops.inl.

template <int N>
struct Count {};

// Calls `body` with the number of rows as a constant.
template <class Body>
PIPETRAIN_INLINE void with_rows(std::int64_t rows, const Body& body) {
  switch (rows) {
    case 1:
      return body(Count<1>{});
    case 2:
      return body(Count<2>{});
    case 3:
      return body(Count<3>{});
    case 4:
      return body(Count<4>{});
    case 5:
      return body(Count<5>{});
    case 6:
      return body(Count<6>{});
    case 7:
      return body(Count<7>{});
    case 8:
      return body(Count<8>{});
    case 9:
      return body(Count<9>{});
    case 10:
      return body(Count<10>{});
    case 11:
      return body(Count<11>{});
    case 12:
      return body(Count<12>{});
    case 13:
      return body(Count<13>{});
    default:
      return body(Count<14>{});
  }
}

// Weights come from far away at every panel's first tile: the panel behind is asked for meanwhile.
constexpr int kIntoSecondCache = 2;

template <int Rows>
PIPETRAIN_INLINE void forward_tile(const LinearForwardLoop& l, std::int64_t panel,
                                   std::int64_t sample) {
  const float* x = l.x + sample * l.in;
  const float* w = l.weights + panel * l.in * kPanel;
  const bool fetches = sample == 0 && l.samples > kTileRows;
  Vector sum[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < 2; ++h)
      sum[r][h] = l.bias ? load(l.bias + panel * kPanel + h * kLanes) : Vector{};
  for (std::int64_t i = 0; i < l.in; ++i) {
    if (l.samples <= kTileRows) {
      __builtin_prefetch(w + (32 + i) * kPanel);
      __builtin_prefetch(w + (32 + i) * kPanel + kLanes);
    }
    if (fetches) {
      __builtin_prefetch(w + (l.in + i) * kPanel, 0, kIntoSecondCache);
      __builtin_prefetch(w + (l.in + i) * kPanel + kLanes, 0, kIntoSecondCache);
    }
    const Vector w0 = load(w + i * kPanel), w1 = load(w + i * kPanel + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const float value = x[r * l.in + i];
      sum[r][0] += value * w0;
      sum[r][1] += value * w1;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < 2; ++h) {
      const std::int64_t first = panel * kPanel + h * kLanes, lanes = lesser(l.out - first, kLanes);
      if (lanes <= 0) continue;
      const std::int64_t at = (sample + r) * l.out + first;
      Vector v = l.rectify ? positive_part(sum[r][h]) : sum[r][h];
      if (l.mask) v = where_positive(load_lanes(l.mask + at, lanes), v);
      store_lanes(l.y + at, v, lanes);
    }
}

// A unit is a tile of a panel; a panel's tiles follow each other.
void linear_forward(const LinearForwardLoop& l, std::int64_t unit_begin, std::int64_t unit_end) {
  const std::int64_t tiles = linear_tiles(l.samples);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t panel = u / tiles, t = u % tiles, first = l.samples * t / tiles;
    with_rows(l.samples * (t + 1) / tiles - first,
              [&]<int Rows>(Count<Rows>) { forward_tile<Rows>(l, panel, first); });
  }
}

template <int Rows>
PIPETRAIN_INLINE void store_rows(const Vector (&rows)[Rows][2], float* to) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) store(to + r * kPanel + h * kLanes, rows[r][h]);
}

// Eight inputs of 32 samples, 32 to a row.
template <bool Fetches>
PIPETRAIN_INLINE void input_tile(const LinearInputLoop& l, const float* gradient, std::int64_t in,
                                 float* tile) {
  constexpr int rows = 8;
  Vector sum[rows][2] = {};
  for (std::int64_t first = 0; first < l.out; first += kPanel) {
    const float* w = l.weights + (first / kPanel * l.in + in) * kPanel;
    const std::int64_t outputs = lesser(l.out - first, kPanel);
    for (std::int64_t o = 0; o < outputs; ++o) {
      if constexpr (Fetches)  // a line of the next 16 inputs, of which a panel has 32
        __builtin_prefetch(w + kLanes * kPanel + o * kLanes, 0, kIntoSecondCache);
      const float* g = gradient + (first + o) * kPanel;
      const Vector g0 = load(g), g1 = load(g + kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const float value = w[r * kPanel + o];
        sum[r][0] += value * g0;
        sum[r][1] += value * g1;
      }
    }
  }
  store_rows(sum, tile);
}

PIPETRAIN_INLINE void mask_tile(const float* mask, float* tile, std::int64_t stride) {
  for (std::int64_t r = 0; r < kLanes; ++r)
    store(tile + r * stride, where_positive(load(mask + r * stride), load(tile + r * stride)));
}

void linear_backward_input(const LinearInputLoop& l, std::int64_t begin, std::int64_t end) {
  alignas(64) float tile[kLanes * kPanel];
  for (std::int64_t block = begin; block < end; ++block)
    for (std::int64_t n = 0; n < l.samples; n += kPanel) {
      const float* gradient = l.gradient + n * l.out;
      const std::int64_t in = block * kLanes;
      if (n == 0)
        input_tile<true>(l, gradient, in, tile);
      else
        input_tile<false>(l, gradient, in, tile);
      input_tile<false>(l, gradient, in + 8, tile + 8 * kPanel);
      for (std::int64_t h = 0; h < kPanel; h += kLanes) {
        const std::int64_t at = (n + h) * l.in + in;
        transpose_tile(tile + h, kPanel, kLanes, l.dx + at, l.in, kLanes);
        if (l.mask) mask_tile(l.mask + at, l.dx + at, l.in);
      }
    }
}
