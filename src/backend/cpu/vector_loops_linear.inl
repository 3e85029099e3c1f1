// Linear layers: tiles of Rows samples x 32 outputs stay in registers while the sum runs. Included
// by vector_loops.inl.

template <int Rows>
PIPETRAIN_INLINE void forward_tile(const LinearForwardLoop& l, std::int64_t panel,
                                   std::int64_t sample) {
  const float* x = l.x + sample * l.in;
  const float* w = l.weights + panel * l.in * kPanel;
  Vector sum[Rows][2];
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h)
      sum[r][h] = l.bias ? load(l.bias + panel * kPanel + h * kLanes) : Vector{};
  for (std::int64_t i = 0; i < l.in; ++i) {
    const Vector w0 = load(w + i * kPanel), w1 = load(w + i * kPanel + kLanes);
    for (int r = 0; r < Rows; ++r) {
      const float value = x[r * l.in + i];
      sum[r][0] += value * w0;
      sum[r][1] += value * w1;
    }
  }
  for (int r = 0; r < Rows; ++r)
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

void linear_forward(const LinearForwardLoop& l, std::int64_t panel_begin, std::int64_t panel_end) {
  for (std::int64_t p = panel_begin; p < panel_end; ++p) {
    std::int64_t n = 0;
    for (; n + 8 <= l.samples; n += 8) forward_tile<8>(l, p, n);
    for (; n + 2 <= l.samples; n += 2) forward_tile<2>(l, p, n);
    for (; n < l.samples; ++n) forward_tile<1>(l, p, n);
  }
}

template <int Rows>
PIPETRAIN_INLINE void weight_tile(const LinearWeightLoop& l, std::int64_t panel, std::int64_t in) {
  const float* gradient = l.gradient + panel * l.samples * kPanel;
  float* w = l.weights + (panel * l.in + in) * kPanel;
  Vector sum[Rows][2];
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h)
      sum[r][h] = l.accumulate ? load(w + r * kPanel + h * kLanes) : Vector{};
  for (std::int64_t n = 0; n < l.samples; ++n) {
    const Vector g0 = load(gradient + n * kPanel), g1 = load(gradient + n * kPanel + kLanes);
    for (int r = 0; r < Rows; ++r) {
      const float value = l.x[n * l.in + in + r];
      sum[r][0] += value * g0;
      sum[r][1] += value * g1;
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) store(w + r * kPanel + h * kLanes, sum[r][h]);
}

PIPETRAIN_INLINE void bias_panel(const LinearWeightLoop& l, std::int64_t panel) {
  const float* gradient = l.gradient + panel * l.samples * kPanel;
  for (int h = 0; h < 2; ++h) {
    float* bias = l.bias + panel * kPanel + h * kLanes;
    Vector sum = l.accumulate ? load(bias) : Vector{};
    for (std::int64_t n = 0; n < l.samples; ++n) sum += load(gradient + n * kPanel + h * kLanes);
    store(bias, sum);
  }
}

void linear_backward_weight(const LinearWeightLoop& l, std::int64_t panel_begin,
                            std::int64_t panel_end) {
  for (std::int64_t p = panel_begin; p < panel_end; ++p) {
    std::int64_t i = 0;
    for (; i + 8 <= l.in; i += 8) weight_tile<8>(l, p, i);
    for (; i < l.in; ++i) weight_tile<1>(l, p, i);
    if (l.bias) bias_panel(l, p);
  }
}
