// Linear layers: tiles of Rows samples x 32 outputs stay in registers while the sum runs. Included
// by vector_loops.inl.

template <int N>
struct Count {};

// Calls `body` with the number of rows as a constant.
template <class Body>
PIPETRAIN_INLINE void with_rows(std::int64_t rows, const Body& body) {
  switch (rows) {
    case 1: return body(Count<1>{});
    case 2: return body(Count<2>{});
    case 3: return body(Count<3>{});
    case 4: return body(Count<4>{});
    case 5: return body(Count<5>{});
    case 6: return body(Count<6>{});
    case 7: return body(Count<7>{});
    case 8: return body(Count<8>{});
    case 9: return body(Count<9>{});
    case 10: return body(Count<10>{});
    case 11: return body(Count<11>{});
    case 12: return body(Count<12>{});
    case 13: return body(Count<13>{});
    default: return body(Count<14>{});
  }
}

template <int Rows>
PIPETRAIN_INLINE void forward_tile(const LinearForwardLoop& l, std::int64_t panel,
                                   std::int64_t sample) {
  const float* x = l.x + sample * l.in;
  const float* w = l.weights + panel * l.in * kPanel;
  Vector sum[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < 2; ++h)
      sum[r][h] = l.bias ? load(l.bias + panel * kPanel + h * kLanes) : Vector{};
  for (std::int64_t i = 0; i < l.in; ++i) {
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
      float* y = l.y + (sample + r) * l.out + first;
      const Vector v = l.rectify ? positive_part(sum[r][h]) : sum[r][h];
      if (lanes == kLanes)
        store(y, v);
      else if (lanes > 0)
        store_some(y, v, lanes);
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
PIPETRAIN_INLINE void weight_tile(const LinearWeightLoop& l, std::int64_t panel, std::int64_t in) {
  const float* gradient = l.gradient + panel * l.samples * kPanel;
  float* w = l.weights + (panel * l.in + in) * kPanel;
  Vector sum[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < 2; ++h)
      sum[r][h] = l.accumulate ? load(w + r * kPanel + h * kLanes) : Vector{};
  for (std::int64_t n = 0; n < l.samples; ++n) {
    const Vector g0 = load(gradient + n * kPanel), g1 = load(gradient + n * kPanel + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const float value = l.x[n * l.in + in + r];
      sum[r][0] += value * g0;
      sum[r][1] += value * g1;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < 2; ++h) store(w + r * kPanel + h * kLanes, sum[r][h]);
}

PIPETRAIN_INLINE void bias_panel(const LinearWeightLoop& l, std::int64_t panel) {
  const float* gradient = l.gradient + panel * l.samples * kPanel;
#pragma GCC unroll 16
  for (int h = 0; h < 2; ++h) {
    float* bias = l.bias + panel * kPanel + h * kLanes;
    Vector sum = l.accumulate ? load(bias) : Vector{};
    for (std::int64_t n = 0; n < l.samples; ++n) sum += load(gradient + n * kPanel + h * kLanes);
    store(bias, sum);
  }
}

void linear_backward_weight(const LinearWeightLoop& l, std::int64_t unit_begin,
                            std::int64_t unit_end) {
  const std::int64_t tiles = linear_tiles(l.in);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t panel = u / tiles, t = u % tiles, first = l.in * t / tiles;
    with_rows(l.in * (t + 1) / tiles - first,
              [&]<int Rows>(Count<Rows>) { weight_tile<Rows>(l, panel, first); });
    if (l.bias && t == 0) bias_panel(l, panel);
  }
}
