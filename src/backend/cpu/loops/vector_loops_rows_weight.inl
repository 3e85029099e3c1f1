// The weight gradient of a linear layer over rows. A tile of its sums stays in registers while the
// rows pass; meanwhile the sums of the tile below, which were last touched a micro-batch ago, are
// prefetched. Included by vector_loops.inl, after vector_loops_linear.inl.

// How many of the 16 columns from `first` on there are.
PIPETRAIN_INLINE std::int64_t columns_from(const RowsWeightLoop& l, std::int64_t first) {
  return greater(0, lesser(l.width - first, kLanes));
}

PIPETRAIN_INLINE void gather_panel(const RowsWeightLoop& l, std::int64_t panel, float* to) {
  for (std::int64_t n = 0; n < l.rows; ++n)
    for (std::int64_t h = 0; h < kPanel; h += kLanes) {
      const std::int64_t column = panel * kPanel + h;
      store(to + n * kPanel + h,
            load_lanes(l.right + n * l.width + column, columns_from(l, column)));
    }
}

template <int Rows, int Halves>
PIPETRAIN_INLINE void rows_weight_tile(const RowsWeightLoop& l, const float* right,
                                       std::int64_t row, std::int64_t column) {
  float* const to = l.sums + row * l.width + column;
  const auto columns = [&](int half) { return columns_from(l, column + half * kLanes); };
  Vector sum[Rows][Halves];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < Halves; ++h)
      sum[r][h] = l.accumulate ? load_lanes(to + r * l.width + h * kLanes, columns(h)) : Vector{};
  std::int64_t fetched = 0;  // rows of the tile below
  for (std::int64_t n = 0; n < l.rows; ++n) {
    for (; fetched * l.rows < n * Rows; ++fetched)
#pragma GCC unroll 2
      for (int h = 0; h < Halves; ++h)
        prefetch_to_write(to + (Rows + fetched) * l.width + h * kLanes);
    Vector values[Halves];
#pragma GCC unroll 2
    for (int h = 0; h < Halves; ++h) values[h] = load(right + n * kPanel + h * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const float value = l.left[n * l.height + row + r];
#pragma GCC unroll 2
      for (int h = 0; h < Halves; ++h) sum[r][h] += value * values[h];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < Halves; ++h)
      store_lanes(to + r * l.width + h * kLanes, sum[r][h], columns(h));
}

// A unit is a tile of a panel of columns; the tiles of a panel are consecutive.
void rows_weight(const RowsWeightLoop& l, GatheredPanel& gathered, std::int64_t unit_begin,
                 std::int64_t unit_end) {
  const std::int64_t tiles = linear_tiles(l.height);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t panel = u / tiles, t = u % tiles, row = l.height * t / tiles;
    if (gathered.panel != panel) {
      gather_panel(l, panel, gathered.rows);
      gathered.panel = panel;
    }
    with_number<kTileRows>(l.height * (t + 1) / tiles - row, [&]<int Rows>(Number<Rows>) {
      if (is_narrow(l.width, panel))
        rows_weight_tile<Rows, 1>(l, gathered.rows, row, panel * kPanel);
      else
        rows_weight_tile<Rows, 2>(l, gathered.rows, row, panel * kPanel);
    });
  }
}
