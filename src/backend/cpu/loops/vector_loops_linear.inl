// Linear layers: parts of a tile of samples x 32 outputs stay in registers while the sum runs, or
// the whole tile if there are enough registers. Included by vector_loops.inl.

template <int Rows, int Halves>
PIPETRAIN_INLINE void store_rows(const Vector (&rows)[Rows][Halves], float* to) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < Halves; ++h) store(to + r * kPanel + h * kLanes, rows[r][h]);
}

// Is only the first half of this (last) panel in use?
PIPETRAIN_INLINE bool is_narrow(std::int64_t out, std::int64_t panel) {
  return out - panel * kPanel <= kLanes;
}

constexpr bool kHoldsTile = kSums >= 2 * kTileRows;
constexpr int kPartRows = kHoldsTile ? kTileRows : kSums;

struct TilePart {
  std::int64_t row;  // the first row
  bool behind;       // begins with output 16 of the panel
  bool narrow;       // the panel's second half is not in use

  constexpr int half() const { return !kHoldsTile && behind; }
};

// Calls body(Number<Rows>, Number<Halves>, part) for each part of a tile of a panel.
template <class Body>
PIPETRAIN_INLINE void each_part(std::int64_t rows, bool narrow, const Body& body) {
  if constexpr (kHoldsTile) {
    const TilePart whole{0, false, narrow};
    with_number<kPartRows>(rows, [&]<int Rows>(Number<Rows> height) {
      if (narrow)
        body(height, Number<1>{}, whole);
      else
        body(height, Number<2>{}, whole);
    });
  } else {
    const std::int64_t parts = (rows + kPartRows - 1) / kPartRows;
    for (int half = 0; half < (narrow ? 1 : 2); ++half)
      for (std::int64_t p = 0; p < parts; ++p) {
        const TilePart part{rows * p / parts, half == 1, narrow};
        with_number<kPartRows>(
            rows * (p + 1) / parts - part.row,
            [&]<int Rows>(Number<Rows> height) { body(height, Number<1>{}, part); });
      }
  }
}

// A panel's first tile reads its weights from far away; the next panel is prefetched meanwhile.
constexpr int kIntoSecondCache = 2;

template <int Rows, int Halves>
PIPETRAIN_INLINE void forward_part(const LinearForwardLoop& l, std::int64_t panel,
                                   std::int64_t sample, int half, bool fetches) {
  const float* x = l.x + sample * l.in;
  const float* w = l.weights + panel * l.in * kPanel + half * kLanes;
  const std::int64_t output = panel * kPanel + half * kLanes;
  Vector sum[Rows][Halves];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < Halves; ++h)
      sum[r][h] = l.bias ? load(l.bias + output + h * kLanes) : Vector{};
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
      const std::int64_t first = output + h * kLanes, lanes = lesser(l.out - first, kLanes);
      if (lanes <= 0) continue;
      const std::int64_t at = (sample + r) * l.out + first;
      Vector v = l.with_relu ? positive_part(sum[r][h]) : sum[r][h];
      if (l.mask) v = where_positive(load_lanes(l.mask + at, lanes), v);
      store_lanes(l.y + at, v, lanes);
    }
}

// A unit is a tile of a panel; the tiles of a panel are consecutive.
void linear_forward(const LinearForwardLoop& l, std::int64_t unit_begin, std::int64_t unit_end,
                    std::int64_t next_end) {
  const std::int64_t tiles = linear_tiles(l.samples);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t panel = u / tiles, t = u % tiles, first = l.samples * t / tiles;
    const bool fetches = t == 0 && tiles > 1 && (panel + 1) * tiles < next_end;
    each_part(l.samples * (t + 1) / tiles - first, is_narrow(l.out, panel),
              [&]<int Rows, int Halves>(Number<Rows>, Number<Halves>, const TilePart& part) {
                forward_part<Rows, Halves>(l, panel, first + part.row, part.half(),
                                           fetches && part.row == 0);
              });
  }
}

constexpr int kInputRows = kSums >= 16  ? 8
                           : kSums >= 4 ? 4
                                        : 2,
              kInputHalves = kSums >= 2 * kInputRows ? 2 : 1;
constexpr std::int64_t kInputTile = kLanes * kPanel;  // 16 inputs of 32 samples

// For some inputs and 16 or 32 samples, over a range of outputs that begins with a panel.
template <bool Fetches>
PIPETRAIN_INLINE void input_part(const LinearInputLoop& l, const float* gradient, std::int64_t in,
                                 std::int64_t out_begin, std::int64_t out_end, float* tile) {
  Vector sum[kInputRows][kInputHalves] = {};
  for (std::int64_t first = out_begin; first < out_end; first += kPanel) {
    const float* w = l.weights + (first / kPanel * l.in + in) * kPanel;
    const std::int64_t outputs = lesser(out_end - first, kPanel);
    for (std::int64_t o = 0; o < outputs; ++o) {
      if constexpr (Fetches)  // one cache line of the next 16 inputs of the panel, which has 32
        __builtin_prefetch(w + kLanes * kPanel + o * kLanes, 0, kIntoSecondCache);
      Vector g[kInputHalves];
#pragma GCC unroll 2
      for (int h = 0; h < kInputHalves; ++h)
        g[h] = load(gradient + (first + o) * kPanel + h * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kInputRows; ++r) {
        const float value = w[r * kPanel + o];
#pragma GCC unroll 2
        for (int h = 0; h < kInputHalves; ++h) sum[r][h] += value * g[h];
      }
    }
  }
  store_rows(sum, tile);
}

// One block's tile of 32 samples.
PIPETRAIN_INLINE void input_tile(const LinearInputLoop& l, std::int64_t block, std::int64_t sample,
                                 std::int64_t out_begin, std::int64_t out_end, float* tile) {
  const float* gradient = l.gradient + sample * l.out;
  for (int row = 0; row < kLanes; row += kInputRows)
    for (int half = 0; half < 2; half += kInputHalves) {
      const std::int64_t in = block * kLanes + row;
      const float* const from = gradient + half * kLanes;
      float* const to = tile + row * kPanel + half * kLanes;
      if (sample == 0 && row == 0 && half == 0)
        input_part<true>(l, from, in, out_begin, out_end, to);
      else
        input_part<false>(l, from, in, out_begin, out_end, to);
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

void input_block(const LinearInputLoop& l, std::int64_t block) {
  alignas(64) float tile[kInputTile];
  for (std::int64_t n = 0; n < l.samples; n += kPanel) {
    input_tile(l, block, n, 0, l.out, tile);
    store_input_tile(l, block, n, tile);
  }
}

// The sums on either side of the cut are stored apart; whichever thread finishes a block second
// adds them up. The second side begins with the second half of the blocks, so that two threads
// finish the same number each.
void input_half_block(const LinearInputLoop& l, std::int64_t unit, std::int64_t cut) {
  const std::int64_t blocks = l.in / kLanes, all = l.samples * kLanes;
  const bool behind = unit >= blocks;
  const std::int64_t block = behind ? (unit + blocks / 2) % blocks : unit;
  float* const sums = l.sums + (behind ? blocks + block : block) * all;
  float* const others = l.sums + (behind ? block : blocks + block) * all;
  if (__atomic_load_n(l.arrived + block, __ATOMIC_RELAXED) != 0)
    for (std::int64_t i = 0; i < all; i += kLanes)
      __builtin_prefetch(others + i, 0, kIntoSecondCache);
  for (std::int64_t n = 0; n < l.samples; n += kPanel)
    input_tile(l, block, n, behind ? cut : 0, behind ? l.out : cut, sums + n * kLanes);
  if (__atomic_fetch_add(l.arrived + block, 1U, __ATOMIC_ACQ_REL) == 0) return;
  for (std::int64_t n = 0; n < l.samples; n += kPanel) {
    float* const tile = sums + n * kLanes;
    add_input_tile(others + n * kLanes, tile);
    store_input_tile(l, block, n, tile);
  }
}

void linear_backward_input(const LinearInputLoop& l, std::int64_t unit_begin,
                           std::int64_t unit_end) {
  const std::int64_t cut = linear_cut(l.out);
  for (std::int64_t u = unit_begin; u < unit_end; ++u)
    if (cut > 0)
      input_half_block(l, u, cut);
    else
      input_block(l, u);
}
