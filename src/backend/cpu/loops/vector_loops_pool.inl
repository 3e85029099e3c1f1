// Pools, 16 channels to a vector. Included by vector_loops.inl.

struct Window {  // the part of a window that is inside the image; taps are numbered over the whole
                 // window
  std::int64_t top, left, y_begin, y_end, x_begin, x_end;
};

PIPETRAIN_INLINE Window window_at(const PoolLoop& p, std::int64_t oy, std::int64_t ox) {
  const std::int64_t top = oy * p.stride[0] - p.padding[0], left = ox * p.stride[1] - p.padding[1];
  return {top,
          left,
          greater(top, 0),
          lesser(top + p.kernel[0], p.in_height),
          greater(left, 0),
          lesser(left + p.kernel[1], p.in_width)};
}

// Calls visit(offset of the input pixel, number of its tap). The common 2 x 2 case is written out.
template <class Visit>
PIPETRAIN_INLINE void each_tap(const PoolLoop& p, const Window& w, Visit visit) {
  if (p.kernel[0] == 2 && p.kernel[1] == 2 && w.y_end - w.y_begin == 2 &&
      w.x_end - w.x_begin == 2) {
    const std::int64_t upper = (w.top * p.in_width + w.left) * kLanes,
                       lower = upper + p.in_width * kLanes;
    visit(upper, 0);
    visit(upper + kLanes, 1);
    visit(lower, 2);
    visit(lower + kLanes, 3);
    return;
  }
  for (std::int64_t y = w.y_begin; y < w.y_end; ++y)
    for (std::int64_t x = w.x_begin; x < w.x_end; ++x)
      visit((y * p.in_width + x) * kLanes,
            static_cast<std::int32_t>((y - w.top) * p.kernel[1] + x - w.left));
}

template <class Visit>
PIPETRAIN_INLINE void each_window(const PoolLoop& loop, Visit visit) {
  const PoolLoop p = loop;  // a copy that no store can change
  for (std::int64_t oy = 0; oy < p.out_height; ++oy)
    for (std::int64_t ox = 0; ox < p.out_width; ++ox)
      visit(window_at(p, oy, ox), (oy * p.out_width + ox) * kLanes);
}

constexpr std::int32_t kNoTap = 255;

template <class E>
void max_pool(const PoolLoop& p, const E* x, E* y, std::uint8_t* taps) {
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        Vector best = Vector{} - std::numeric_limits<float>::infinity();
        Ints best_tap{};
        each_tap(
            p, w, [&](std::int64_t from, std::int32_t tap) __attribute__((always_inline)) {
              const Vector v = load(x + from);
              const Ints better =
                  (v > best) | (v != v);  // the first of several equals wins; a NaN always does
              best = select(better, v, best);
              best_tap = select(better, Ints{} + tap, best_tap);
            });
        store(y + at, best);
        if (!taps) return;
        if (p.after_relu) best_tap = select(best > 0.0f, best_tap, Ints{} + kNoTap);
        write(taps + at, convert<Bytes>(best_tap));
      });
}

PIPETRAIN_INLINE bool disjoint(const PoolLoop& p) {
  return p.stride[0] >= p.kernel[0] && p.stride[1] >= p.kernel[1];
}
// Is every input pixel in exactly one window?
PIPETRAIN_INLINE bool tiled(const PoolLoop& p) {
  return p.stride == p.kernel && p.padding[0] == 0 && p.padding[1] == 0 &&
         p.out_height * p.stride[0] == p.in_height && p.out_width * p.stride[1] == p.in_width;
}
template <class E>
PIPETRAIN_INLINE void clear_unless_tiled(const PoolLoop& p, E* dx) {
  if (!tiled(p))
    std::memset(dx, 0, static_cast<std::size_t>(p.in_height * p.in_width * kLanes) * sizeof(E));
}

// The windows that cover one coordinate, as it moves up: from `begin` to below `end`.
struct Covering {
  std::int64_t kernel, stride, padding, windows, begin = 0, end = 0;

  PIPETRAIN_INLINE void move_to(std::int64_t coordinate) {
    const std::int64_t at = coordinate + padding;
    while (begin < windows && begin * stride + kernel <= at) ++begin;
    while (end < windows && end * stride <= at) ++end;
  }
};

// For each input pixel the sum, in f32, of share(offset of the window's output pixel, number of the
// tap) over its windows, in their order. Takes nearly three times as long as adding window by
// window, which rounds each sum to E on its way.
template <class E, class Share>
PIPETRAIN_INLINE void add_up_windows(const PoolLoop& loop, E* dx, Share share) {
  const PoolLoop p = loop;
  Covering rows{p.kernel[0], p.stride[0], p.padding[0], p.out_height};
  for (std::int64_t y = 0; y < p.in_height; ++y) {
    rows.move_to(y);
    Covering columns{p.kernel[1], p.stride[1], p.padding[1], p.out_width};
    for (std::int64_t x = 0; x < p.in_width; ++x) {
      columns.move_to(x);
      Vector sum{};
      for (std::int64_t oy = rows.begin; oy < rows.end; ++oy)
        for (std::int64_t ox = columns.begin; ox < columns.end; ++ox)
          sum +=
              share((oy * p.out_width + ox) * kLanes,
                    static_cast<std::int32_t>((y + p.padding[0] - oy * p.stride[0]) * p.kernel[1] +
                                              x + p.padding[1] - ox * p.stride[1]));
      store(dx + (y * p.in_width + x) * kLanes, sum);
    }
  }
}

// Would sums in E lose much? A sum of 256 equal shares no longer grows in bf16.
template <class E>
PIPETRAIN_INLINE bool rounds_much(const PoolLoop& p) {
  const auto windows = [&](int axis) { return (p.kernel[axis] - 1) / p.stride[axis] + 1; };
  return sizeof(E) < sizeof(float) && windows(0) * windows(1) > 16;
}

template <class E>
void max_pool_backward(const PoolLoop& p, const std::uint8_t* taps, const E* dy, E* dx) {
  if (rounds_much<E>(p))
    return add_up_windows(
        p, dx, [&](std::int64_t at, std::int32_t tap) __attribute__((always_inline)) {
          return select(convert<Ints>(read<Bytes>(taps + at)) == tap, load(dy + at), Vector{});
        });
  clear_unless_tiled(p, dx);
  const bool alone = disjoint(p);
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        const Ints winner = convert<Ints>(read<Bytes>(taps + at));
        const Vector g = load(dy + at);
        each_tap(
            p, w, [&](std::int64_t to, std::int32_t tap) __attribute__((always_inline)) {
              const Vector share = select(winner == tap, g, Vector{});
              store(dx + to, alone ? share : load(dx + to) + share);
            });
      });
}

template <class E>
void avg_pool(const PoolLoop& p, const E* x, E* y) {
  const auto count = static_cast<float>(p.kernel[0] * p.kernel[1]);
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        Vector sum{};
        each_tap(
            p, w, [&](std::int64_t from, std::int32_t) __attribute__((always_inline)) {
              sum += load(x + from);
            });
        store(y + at, sum / count);
      });
}

template <class E>
void avg_pool_backward(const PoolLoop& p, const E* dy, E* dx) {
  const auto count = static_cast<float>(p.kernel[0] * p.kernel[1]);
  if (rounds_much<E>(p))
    return add_up_windows(
        p, dx, [&](std::int64_t at, std::int32_t) __attribute__((always_inline)) {
          return load(dy + at) / count;
        });
  clear_unless_tiled(p, dx);
  const bool alone = disjoint(p);
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        const Vector share = load(dy + at) / count;
        each_tap(
            p, w, [&](std::int64_t to, std::int32_t) __attribute__((always_inline)) {
              store(dx + to, alone ? share : load(dx + to) + share);
            });
      });
}
