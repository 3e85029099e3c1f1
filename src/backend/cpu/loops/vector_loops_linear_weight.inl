// The weight gradient of linear layers, which is stored, or updates the weights as it is made.
// Included by vector_loops.inl, after vector_loops_linear.inl.

// Sums up the squares of a tile of gradients.
struct TileSquares {
  Doubles lanes[4] = {};

  PIPETRAIN_INLINE void add(const Vector& g, int half) {
    add_squares(g, lanes[2 * half], lanes[2 * half + 1]);
  }
  double sum() const { return sum_lanes((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])); }
};

template <Sgd Kind>
PIPETRAIN_INLINE void update_vector(const SgdStep& step, const UpdateArguments& a, std::int64_t at,
                                    const Vector& g) {
  Vector velocity{};
  if constexpr (Kind != Sgd::Plain) velocity = load(a.first_moment + at);
  store(a.new_weights + at, sgd_vector<Kind>(step, load(a.weights + at), g, velocity));
  if constexpr (Kind != Sgd::Plain) store(a.first_moment + at, velocity);
}

// Updates a tile's weights by its gradient; returns the gradient's sum of squares.
template <Sgd Kind>
double update_rows(const UpdateRule& rule, const UpdateArguments& a, std::int64_t offset,
                   const float* gradient, std::int64_t rows) {
  const SgdStep step = sgd_step(rule);
  TileSquares squares;
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const std::int64_t i = r * kPanel + h * kLanes;
      const Vector g = load(gradient + i);
      update_vector<Kind>(step, a, offset + i, g);
      squares.add(g, h);
    }
  return squares.sum();
}

double update_tile(const UpdateRule& rule, const UpdateArguments& a, std::int64_t offset,
                   const float* gradient, std::int64_t rows) {
  switch (kind_of(rule)) {
    case Sgd::Plain:
      return update_rows<Sgd::Plain>(rule, a, offset, gradient, rows);
    case Sgd::Momentum:
      return update_rows<Sgd::Momentum>(rule, a, offset, gradient, rows);
    case Sgd::Nesterov:
      return update_rows<Sgd::Nesterov>(rule, a, offset, gradient, rows);
  }
  return 0;
}

// What happens to a tile of the weight gradient, which is in registers: it is stored ..
struct StoreTile {
  const LinearWeightLoop& l;

  PIPETRAIN_INLINE void prefetch(std::int64_t at) const {
    if (l.accumulate) prefetch_to_write(l.weights + at);
  }
  template <int Rows, int Halves>
  PIPETRAIN_INLINE void operator()(const Vector (&sum)[Rows][Halves], std::int64_t offset,
                                   const TilePart& part, TileSquares&) const {
    store_rows(sum, l.weights + offset);
    if (Halves == 1 && part.narrow)
      for (int r = 0; r < Rows; ++r) store(l.weights + offset + r * kPanel + kLanes, Vector{});
  }
  PIPETRAIN_INLINE void end(std::int64_t, const TileSquares&) const {}
};

// .. or updates the weights, and is never stored. Does the same as update_rows().
template <Sgd Kind>
struct UpdateTile {
  const LinearWeightLoop& l;
  const UpdateArguments& a = *l.update;
  SgdStep step = sgd_step(*l.rule);

  PIPETRAIN_INLINE void prefetch(std::int64_t at) const {
    if (l.accumulate) prefetch_to_write(l.weights + at);
    prefetch_to_write(a.weights + at);
    if constexpr (Kind != Sgd::Plain) prefetch_to_write(a.first_moment + at);
  }
  template <int Rows, int Halves>
  PIPETRAIN_INLINE void operator()(const Vector (&sum)[Rows][Halves], std::int64_t offset,
                                   const TilePart& part, TileSquares& sums) const {
    TileSquares squares = sums;  // kept in registers
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int h = 0; h < Halves; ++h) {
        update_vector<Kind>(step, a, offset + r * kPanel + h * kLanes, sum[r][h]);
        squares.add(sum[r][h], part.half() + h);
      }
    if (Halves == 1 && part.narrow)  // the memory of another version may hold anything
      for (int r = 0; r < Rows; ++r) store(a.new_weights + offset + r * kPanel + kLanes, Vector{});
    sums = squares;
  }
  PIPETRAIN_INLINE void end(std::int64_t unit, const TileSquares& squares) const {
    l.squares[unit] = squares.sum();
  }
};

template <int Rows, int Halves, class Finish>
PIPETRAIN_INLINE void weight_part(const LinearWeightLoop& l, const float* gradient,
                                  std::int64_t panel, std::int64_t in, const TilePart& part,
                                  const Finish& finish, TileSquares& squares) {
  const std::int64_t offset = (panel * l.in + in) * kPanel + part.half() * kLanes;
  const float* w = l.weights + offset;
  Vector sum[Rows][Halves];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int h = 0; h < Halves; ++h)
      sum[r][h] = l.accumulate ? load(w + r * kPanel + h * kLanes) : Vector{};
  std::int64_t line = 0;  // next cache line to prefetch for the next tile
  for (std::int64_t n = 0; n < l.samples; ++n) {
    for (; line * l.samples < (n + 1) * 2 * Rows; ++line)
      finish.prefetch(offset + Rows * kPanel + line * kLanes);
    Vector g[Halves];
#pragma GCC unroll 2
    for (int h = 0; h < Halves; ++h)
      g[h] = load(gradient + n * kPanel + (part.half() + h) * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const float value = l.x[n * l.in + in + r];
#pragma GCC unroll 2
      for (int h = 0; h < Halves; ++h) sum[r][h] += value * g[h];
    }
  }
  finish(sum, offset, part, squares);
}

PIPETRAIN_INLINE void gather_panel(const LinearWeightLoop& l, std::int64_t panel, float* rows) {
  const float* from = l.gradient + panel * kPanel;
  const std::int64_t filled = l.out - panel * kPanel;
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t h = 0; h < kPanel; h += kLanes) {
      const std::int64_t lanes = lesser(filled - h, kLanes);
      store(rows + n * kPanel + h, lanes > 0 ? load_lanes(from + n * l.out + h, lanes) : Vector{});
    }
}

PIPETRAIN_INLINE void bias_panel(const LinearWeightLoop& l, const float* gradient,
                                 std::int64_t panel) {
  for (int h = 0; h < 2; ++h) {
    float* bias = l.bias + panel * kPanel + h * kLanes;
    Vector sum = l.accumulate ? load(bias) : Vector{};
    for (std::int64_t n = 0; n < l.samples; ++n) sum += load(gradient + n * kPanel + h * kLanes);
    store(bias, sum);
  }
}

template <class Finish>
void weight_units(const LinearWeightLoop& l, GatheredPanel& gathered, std::int64_t unit_begin,
                  std::int64_t unit_end, const Finish& finish) {
  const std::int64_t tiles = linear_tiles(l.in);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t panel = u / tiles, t = u % tiles, first = l.in * t / tiles;
    if (gathered.panel != panel) {
      gather_panel(l, panel, gathered.rows);
      gathered.panel = panel;
    }
    TileSquares squares;
    each_part(l.in * (t + 1) / tiles - first, is_narrow(l.out, panel),
              [&]<int Rows, int Halves>(Number<Rows>, Number<Halves>, const TilePart& part) {
                weight_part<Rows, Halves>(l, gathered.rows, panel, first + part.row, part, finish,
                                          squares);
              });
    finish.end(u, squares);
    if (l.bias && t == 0) bias_panel(l, gathered.rows, panel);
  }
}

void linear_backward_weight(const LinearWeightLoop& l, GatheredPanel& gathered,
                            std::int64_t unit_begin, std::int64_t unit_end) {
  if (!l.update) return weight_units(l, gathered, unit_begin, unit_end, StoreTile{l});
  switch (kind_of(*l.rule)) {
    case Sgd::Plain:
      return weight_units(l, gathered, unit_begin, unit_end, UpdateTile<Sgd::Plain>{l});
    case Sgd::Momentum:
      return weight_units(l, gathered, unit_begin, unit_end, UpdateTile<Sgd::Momentum>{l});
    case Sgd::Nesterov:
      return weight_units(l, gathered, unit_begin, unit_end, UpdateTile<Sgd::Nesterov>{l});
  }
}

void linear_update(const UpdateRule& rule, const UpdateArguments& a, std::int64_t in,
                   std::int64_t unit_begin, std::int64_t unit_end, double* squares) {
  const std::int64_t tiles = linear_tiles(in);
  for (std::int64_t u = unit_begin; u < unit_end; ++u) {
    const std::int64_t t = u % tiles, first = in * t / tiles;
    const std::int64_t offset = (u / tiles * in + first) * kPanel;
    squares[u] = update_tile(rule, a, offset, a.gradient + offset, in * (t + 1) / tiles - first);
  }
}
