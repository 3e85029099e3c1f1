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

template <int Rows, int Halves>
PIPETRAIN_INLINE void store_rows(const Vector (&rows)[Rows][Halves], float* to) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < Halves; ++h) store(to + r * kPanel + h * kLanes, rows[r][h]);
}

// Of the last panel one half may be all there is of use.
PIPETRAIN_INLINE bool is_narrow(std::int64_t out, std::int64_t panel) {
  return out - panel * kPanel <= kLanes;
}

// Calls body(Count<Rows>, Count<Halves>) for a tile of a panel.
template <class Body>
PIPETRAIN_INLINE void with_tile(std::int64_t rows, bool narrow, const Body& body) {
  with_rows(rows, [&]<int Rows>(Count<Rows> count) {
    if (narrow)
      body(count, Count<1>{});
    else
      body(count, Count<2>{});
  });
}

// Weights come from far away at every panel's first tile: the panel behind is asked for meanwhile.
constexpr int kIntoSecondCache = 2;

template <int Rows, int Halves>
PIPETRAIN_INLINE void forward_tile(const LinearForwardLoop& l, std::int64_t panel,
                                   std::int64_t sample, bool fetches) {
  const float* x = l.x + sample * l.in;
  const float* w = l.weights + panel * l.in * kPanel;
  Vector sum[Rows][Halves];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < Halves; ++h)
      sum[r][h] = l.bias ? load(l.bias + panel * kPanel + h * kLanes) : Vector{};
  const auto add_up = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (l.samples <= kTileRows) {
        __builtin_prefetch(w + (32 + i) * kPanel);
        __builtin_prefetch(w + (32 + i) * kPanel + kLanes);
      }
      if (fetches) {
        __builtin_prefetch(w + (l.in + i) * kPanel, 0, kIntoSecondCache);
        __builtin_prefetch(w + (l.in + i) * kPanel + kLanes, 0, kIntoSecondCache);
      }
      Vector weights[Halves];
#pragma GCC unroll 2
      for (int h = 0; h < Halves; ++h) weights[h] = load(w + i * kPanel + h * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const float value = x[r * l.in + i];
#pragma GCC unroll 2
        for (int h = 0; h < Halves; ++h) sum[r][h] += value * weights[h];
      }
    }
  };
  add_up(0, l.cut > 0 ? l.cut : l.in);
  if (l.cut > 0) {
    alignas(64) float before[Rows * kPanel];
    store_rows(sum, before);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int h = 0; h < Halves; ++h) sum[r][h] = Vector{};
    add_up(l.cut, l.in);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
      for (int h = 0; h < Halves; ++h) sum[r][h] += load(before + r * kPanel + h * kLanes);
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t first = panel * kPanel + h * kLanes, lanes = lesser(l.out - first, kLanes);
      if (lanes <= 0) continue;
      const std::int64_t at = (sample + r) * l.out + first;
      Vector v = l.rectify ? positive_part(sum[r][h]) : sum[r][h];
      if (l.mask) v = where_positive(load_lanes(l.mask + at, lanes), v);
      store_lanes(l.y + at, v, lanes);
    }
}

// A unit is a tile of a panel; a panel's tiles follow each other.
void linear_forward(const LinearForwardLoop& l, std::int64_t unit_begin, std::int64_t unit_end,
                    std::int64_t next_end) {
  const std::int64_t tiles = linear_tiles(l.samples);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t panel = u / tiles, t = u % tiles, first = l.samples * t / tiles;
    const bool fetches = t == 0 && tiles > 1 && (panel + 1) * tiles < next_end;
    with_tile(l.samples * (t + 1) / tiles - first, is_narrow(l.out, panel),
              [&]<int Rows, int Halves>(Count<Rows>, Count<Halves>) {
                forward_tile<Rows, Halves>(l, panel, first, fetches);
              });
  }
}

// Eight inputs of 32 samples, 32 to a row, over a range of outputs that begins with a panel.
template <bool Fetches>
PIPETRAIN_INLINE void input_tile(const LinearInputLoop& l, const float* gradient, std::int64_t in,
                                 std::int64_t out_begin, std::int64_t out_end, float* tile) {
  constexpr int rows = 8;
  Vector sum[rows][2] = {};
  for (std::int64_t first = out_begin; first < out_end; first += kPanel) {
    const float* w = l.weights + (first / kPanel * l.in + in) * kPanel;
    const std::int64_t outputs = lesser(out_end - first, kPanel);
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

constexpr std::int64_t kInputTile = kLanes * kPanel;  // 16 inputs of 32 samples

// A block's tiles, 32 samples each.
void input_sums(const LinearInputLoop& l, std::int64_t block, std::int64_t out_begin,
                std::int64_t out_end, float* tiles) {
  const std::int64_t in = block * kLanes;
  for (std::int64_t n = 0; n < l.samples; n += kPanel, tiles += kInputTile) {
    const float* gradient = l.gradient + n * l.out;
    if (n == 0)
      input_tile<true>(l, gradient, in, out_begin, out_end, tiles);
    else
      input_tile<false>(l, gradient, in, out_begin, out_end, tiles);
    input_tile<false>(l, gradient, in + 8, out_begin, out_end, tiles + 8 * kPanel);
  }
}

PIPETRAIN_INLINE void mask_tile(const float* mask, float* tile, std::int64_t stride) {
  for (std::int64_t r = 0; r < kLanes; ++r)
    store(tile + r * stride, where_positive(load(mask + r * stride), load(tile + r * stride)));
}

void store_input_tile(const LinearInputLoop& l, std::int64_t block, std::int64_t sample,
                      const float* tile) {
  for (std::int64_t h = 0; h < kPanel; h += kLanes) {
    const std::int64_t at = (sample + h) * l.in + block * kLanes;
    transpose_tile(tile + h, kPanel, kLanes, l.dx + at, l.in, kLanes);
    if (l.mask) mask_tile(l.mask + at, l.dx + at, l.in);
  }
}

void add_input_tile(const float* from, float* to) {
  for (std::int64_t i = 0; i < kInputTile; i += kLanes)
    store(to + i, load(to + i) + load(from + i));
}

// The sums over either side of the cut have a place each; who comes second to a block adds them up.
// The other side begins with the other half of the blocks, so that two threads end as many each.
void linear_backward_input(const LinearInputLoop& l, std::int64_t unit_begin,
                           std::int64_t unit_end) {
  const std::int64_t blocks = l.in / kLanes, cut = linear_cut(l.out), all = l.samples * kLanes;
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const bool behind = u >= blocks;
    const std::int64_t block = behind ? (u + blocks / 2) % blocks : u;
    float* const sums = l.sums + (behind ? blocks + block : block) * all;
    float* const others = l.sums + (behind ? block : blocks + block) * all;
    if (cut > 0 && __atomic_load_n(l.arrived + block, __ATOMIC_RELAXED) != 0)
      for (std::int64_t i = 0; i < all; i += kLanes)
        __builtin_prefetch(others + i, 0, kIntoSecondCache);
    input_sums(l, block, behind ? cut : 0, behind || cut == 0 ? l.out : cut, sums);
    if (cut > 0 && __atomic_fetch_add(l.arrived + block, 1U, __ATOMIC_ACQ_REL) == 0) continue;
    for (std::int64_t n = 0; n < l.samples; n += kPanel) {
      float* const tile = sums + n * kLanes;
      if (cut > 0) add_input_tile(others + n * kLanes, tile);
      store_input_tile(l, block, n, tile);
    }
  }
}
