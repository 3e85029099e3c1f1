// The bodies of the vector loops, included once per instruction set. Vectors are the compiler's own
// type, which it splits where registers are shorter. No inline function of the standard library is
// called here: the linker could keep the copy of the wrong instruction set.
#pragma GCC diagnostic ignored "-Wpsabi"  // every vector argument below is inlined

#define PIPETRAIN_INLINE inline __attribute__((always_inline))

namespace pipetrain::cpu {
namespace {

using Vector = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));
using Bytes = std::uint8_t __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(64)));
using HalfVector = float __attribute__((vector_size(32)));

PIPETRAIN_INLINE Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
PIPETRAIN_INLINE void store(float* to, const Vector& v) { std::memcpy(to, &v, sizeof v); }
PIPETRAIN_INLINE Vector load_some(const float* from, std::int64_t lanes) {
  Vector v{};
  std::memcpy(&v, from, static_cast<std::size_t>(lanes) * sizeof(float));
  return v;
}
PIPETRAIN_INLINE void store_some(float* to, const Vector& v, std::int64_t lanes) {
  std::memcpy(to, &v, static_cast<std::size_t>(lanes) * sizeof(float));
}
// A NaN stays one, so that divergence is seen.
PIPETRAIN_INLINE Vector positive_part(const Vector& v) { return v < 0.0f ? Vector{} : v; }
PIPETRAIN_INLINE std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
PIPETRAIN_INLINE std::int64_t greater(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// ---- transposition

// Rows become columns by exchanging halves, quarters, pairs and neighbours.
PIPETRAIN_INLINE void transpose(Vector (&r)[16]) {
  Vector t[16];
  for (int i = 0; i < 8; ++i) {
    t[i] = __builtin_shufflevector(r[i], r[i + 8], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21,
                                   22, 23);
    t[i + 8] = __builtin_shufflevector(r[i], r[i + 8], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27,
                                       28, 29, 30, 31);
  }
  for (int h = 0; h < 16; h += 8)
    for (int i = h; i < h + 4; ++i) {
      r[i] = __builtin_shufflevector(t[i], t[i + 4], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24,
                                     25, 26, 27);
      r[i + 4] = __builtin_shufflevector(t[i], t[i + 4], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15,
                                         28, 29, 30, 31);
    }
  for (int h = 0; h < 16; h += 4)
    for (int i = h; i < h + 2; ++i) {
      t[i] = __builtin_shufflevector(r[i], r[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12,
                                     13, 28, 29);
      t[i + 2] = __builtin_shufflevector(r[i], r[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27,
                                         14, 15, 30, 31);
    }
  for (int i = 0; i < 16; i += 2) {
    r[i] = __builtin_shufflevector(t[i], t[i + 1], 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12,
                                   28, 14, 30);
    r[i + 1] = __builtin_shufflevector(t[i], t[i + 1], 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27,
                                       13, 29, 15, 31);
  }
}

void transpose_tile(const float* from, std::int64_t from_stride, std::int64_t rows, float* to,
                    std::int64_t to_stride, std::int64_t columns) {
  Vector r[16] = {};
  for (std::int64_t i = 0; i < rows; ++i) r[i] = load(from + i * from_stride);
  transpose(r);
  for (std::int64_t i = 0; i < columns; ++i) store(to + i * to_stride, r[i]);
}

// ---- linear: tiles of Rows samples x 32 outputs stay in registers while the sum runs

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

// ---- convolutions of few channels

constexpr std::int64_t kTilePixels = 14;

// Pixels neighbours of a row x 16 outputs stay in registers while the sum runs.
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
    store(y + i * kLanes, l.rectify ? positive_part(sum[i]) : sum[i]);
}

// The last tile of a row overlaps the one before it, and computes the same values again.
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
  const auto rows =
      pixels > 12   ? (l.out_width >= 14 ? few_channels_rows<14> : few_channels_rows<13>)
      : pixels > 10 ? (l.out_width >= 12 ? few_channels_rows<12> : few_channels_rows<11>)
      : pixels > 8  ? (l.out_width >= 10 ? few_channels_rows<10> : few_channels_rows<9>)
      : pixels == 8 ? few_channels_rows<8>
      : pixels >= 4 ? few_channels_rows<4>
                    : few_channels_rows<1>;
  rows(l, x, weights, bias, y);
}

template <int Columns>
PIPETRAIN_INLINE void few_channels_taps(const FewChannelsLoop& l, const float* x, const float* dy,
                                        float* w) {
  Vector sum[Columns][kFewChannels] = {};
  for (std::int64_t oy = 0; oy < l.out_height; ++oy)
    for (std::int64_t ox = 0; ox < l.out_width; ++ox) {
      const Vector g = load(dy + (oy * l.out_width + ox) * kLanes);
      const float* pixel = x + (oy * l.in_width + ox) * kLanes;
      for (int column = 0; column < Columns; ++column)
        for (int c = 0; c < kFewChannels; ++c) sum[column][c] += pixel[column * kLanes + c] * g;
    }
  for (int column = 0; column < Columns; ++column)
    for (int c = 0; c < kFewChannels; ++c) {
      float* to = w + (column * kLanes + c) * kLanes;
      store(to, load(to) + sum[column][c]);
    }
}

void few_channels_weight(const FewChannelsLoop& l, std::int64_t out_block, std::int64_t row,
                         const float* x, const float* dy, float* weights) {
  x += row * l.in_width * kLanes;
  dy += out_block * l.out_height * l.out_width * kLanes;
  weights += (out_block * l.kernel[0] + row) * l.kernel[1] * kLanes * kLanes;
  std::int64_t column = 0;
  const auto at = [&](std::int64_t i) { return weights + i * kLanes * kLanes; };
  for (; column + 3 <= l.kernel[1]; column += 3)
    few_channels_taps<3>(l, x + column * kLanes, dy, at(column));
  for (; column + 2 <= l.kernel[1]; column += 2)
    few_channels_taps<2>(l, x + column * kLanes, dy, at(column));
  for (; column < l.kernel[1]; ++column)
    few_channels_taps<1>(l, x + column * kLanes, dy, at(column));
}

void sum_pixels(const float* values, std::int64_t pixels, float* sum) {
  Vector total = load(sum);
  for (std::int64_t i = 0; i < pixels; ++i) total += load(values + i * kLanes);
  store(sum, total);
}

// ---- elementwise: left to the compiler; arguments may be the same memory, never overlap otherwise

void relu_forward(const float* x, float* y, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
}

void relu_backward(const float* y, const float* dy, float* dx, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = dy[i];
    dx[i] = y[i] > 0 ? g : 0.0f;
  }
}

void add(const float* a, const float* b, float* sum, std::int64_t count, bool rectify) {
  const float floor = rectify ? 0.0f : -std::numeric_limits<float>::infinity();
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = a[i] + b[i];
    sum[i] = v < floor ? floor : v;
  }
}

void drop(const float* x, const std::uint8_t* kept, float scale, float* y, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = x[i] * scale;
    y[i] = kept[i] ? v : 0.0f;
  }
}

// ---- batch_norm

// Calls visit(offset) for every pixel; the sums of a sample are f32, over samples f64.
template <class Sample>
PIPETRAIN_INLINE void each_sample(const ChannelWalk& w, double* first, double* second,
                                  Sample sample) {
  for (int i = 0; i < kLanes; ++i) first[i] = second[i] = 0;
  for (std::int64_t n = 0; n < w.samples; ++n) {
    Vector a[2] = {}, b[2] = {};
    for (std::int64_t i = 0; i < w.pixels; ++i)
      sample(n * w.sample_stride + i * w.pixel_stride, a[i % 2], b[i % 2]);
    const Vector sa = a[0] + a[1], sb = b[0] + b[1];
    for (int i = 0; i < kLanes; ++i) {
      first[i] += static_cast<double>(sa[i]);
      second[i] += static_cast<double>(sb[i]);
    }
  }
}

struct Whole {  // all 16 lanes
  PIPETRAIN_INLINE Vector get(const float* from) const { return load(from); }
  PIPETRAIN_INLINE void put(float* to, const Vector& v) const { store(to, v); }
  PIPETRAIN_INLINE Bytes get(const std::uint8_t* from) const {
    Bytes bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
  }
  PIPETRAIN_INLINE void put(std::uint8_t* to, Bytes bytes) const {
    std::memcpy(to, &bytes, sizeof bytes);
  }
};
struct Part {  // the last lanes of a vector
  std::int64_t lanes;
  PIPETRAIN_INLINE Vector get(const float* from) const { return load_some(from, lanes); }
  PIPETRAIN_INLINE void put(float* to, const Vector& v) const { store_some(to, v, lanes); }
  PIPETRAIN_INLINE Bytes get(const std::uint8_t* from) const {
    Bytes bytes{};
    std::memcpy(&bytes, from, static_cast<std::size_t>(lanes));
    return bytes;
  }
  PIPETRAIN_INLINE void put(std::uint8_t* to, Bytes bytes) const {
    std::memcpy(to, &bytes, static_cast<std::size_t>(lanes));
  }
};

template <class Body>
PIPETRAIN_INLINE void by_lanes(const ChannelWalk& w, Body body) {
  if (w.lanes == kLanes)
    body(Whole{});
  else
    body(Part{w.lanes});
}

template <class Lanes>
PIPETRAIN_INLINE Vector gradient_at(const BatchNormLoop& l, Lanes lanes, const float* dy,
                                    std::int64_t at) {
  const Vector g = lanes.get(dy + at);
  if (!l.kept) return g;
  return __builtin_convertvector(lanes.get(l.kept + at), Ints) != 0 ? g : Vector{};
}

void moments(const ChannelWalk& w, const float* x, const float* shift, double* sum,
             double* squares) {
  by_lanes(
      w, [&](auto lanes) __attribute__((always_inline)) {
        const Vector origin = load(shift);
        each_sample(
            w, sum,
            squares, [&](std::int64_t at, Vector & a, Vector & b) __attribute__((always_inline)) {
              const Vector d = lanes.get(x + at) - origin;
              a += d;
              b += d * d;
            });
      });
}

void gradient_sums(const BatchNormLoop& l, const float* x, const float* dy, double* sum,
                   double* product) {
  by_lanes(
      l.walk, [&](auto lanes) __attribute__((always_inline)) {
        const Vector mean = load(l.mean);
        each_sample(
            l.walk, sum,
            product, [&](std::int64_t at, Vector & a, Vector & b) __attribute__((always_inline)) {
              const Vector g = gradient_at(l, lanes, dy, at);
              a += g;
              b += g * (lanes.get(x + at) - mean);
            });
      });
}

template <class Visit>
PIPETRAIN_INLINE void each_pixel(const ChannelWalk& w, Visit visit) {
  for (std::int64_t n = 0; n < w.samples; ++n)
    for (std::int64_t i = 0; i < w.pixels; ++i) visit(n * w.sample_stride + i * w.pixel_stride);
}

void normalise(const BatchNormLoop& l, const float* x, const float* gamma, const float* beta,
               float* y, std::uint8_t* kept, bool rectify) {
  by_lanes(
      l.walk, [&](auto lanes) __attribute__((always_inline)) {
        const Vector mean = load(l.mean), factor = load(l.scale) * load(gamma), shift = load(beta);
        each_pixel(
            l.walk, [&](std::int64_t at) __attribute__((always_inline)) {
              Vector v = (lanes.get(x + at) - mean) * factor + shift;
              if (kept) lanes.put(kept + at, __builtin_convertvector(v > 0.0f, Bytes));
              lanes.put(y + at, rectify ? positive_part(v) : v);
            });
      });
}

void normalise_backward(const BatchNormLoop& l, const float* x, const float* dy,
                        const float* factor, const float* shift, const float* slope, float* dx) {
  by_lanes(
      l.walk, [&](auto lanes) __attribute__((always_inline)) {
        const Vector mean = load(l.mean), f = load(factor), s = load(shift), k = load(slope);
        each_pixel(
            l.walk, [&](std::int64_t at) __attribute__((always_inline)) {
              const Vector g = gradient_at(l, lanes, dy, at);
              lanes.put(dx + at, f * (g - s - (lanes.get(x + at) - mean) * k));
            });
      });
}

// ---- pools

struct Window {  // the part of a window that lies inside the image; taps count over the whole one
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

// Calls visit(offset of the input pixel, number of its tap). The common 2 x 2 is written out.
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

void max_pool(const PoolLoop& p, const float* x, float* y, std::uint8_t* taps) {
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        Vector best = Vector{} - std::numeric_limits<float>::infinity();
        Ints best_tap{};
        each_tap(
            p, w, [&](std::int64_t from, std::int32_t tap) __attribute__((always_inline)) {
              const Vector v = load(x + from);
              const Ints better =
                  (v > best) | (v != v);  // the first of equals wins; a NaN always does
              best = better ? v : best;
              best_tap = better ? Ints{} + tap : best_tap;
            });
        store(y + at, best);
        if (!taps) return;
        if (p.rectified) best_tap = best > 0.0f ? best_tap : Ints{} + kNoTap;
        const Bytes bytes = __builtin_convertvector(best_tap, Bytes);
        std::memcpy(taps + at, &bytes, sizeof bytes);
      });
}

PIPETRAIN_INLINE bool disjoint(const PoolLoop& p) {
  return p.stride[0] >= p.kernel[0] && p.stride[1] >= p.kernel[1];
}
// Every input pixel lies in exactly one window.
PIPETRAIN_INLINE bool tiled(const PoolLoop& p) {
  return p.stride == p.kernel && p.padding[0] == 0 && p.padding[1] == 0 &&
         p.out_height * p.stride[0] == p.in_height && p.out_width * p.stride[1] == p.in_width;
}
PIPETRAIN_INLINE void clear_unless_tiled(const PoolLoop& p, float* dx) {
  if (!tiled(p))
    std::memset(dx, 0, static_cast<std::size_t>(p.in_height * p.in_width * kLanes) * sizeof(float));
}

void max_pool_backward(const PoolLoop& p, const std::uint8_t* taps, const float* dy, float* dx) {
  clear_unless_tiled(p, dx);
  const bool alone = disjoint(p);
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        Bytes bytes;
        std::memcpy(&bytes, taps + at, sizeof bytes);
        const Ints winner = __builtin_convertvector(bytes, Ints);
        const Vector g = load(dy + at);
        each_tap(
            p, w, [&](std::int64_t to, std::int32_t tap) __attribute__((always_inline)) {
              const Vector share = winner == tap ? g : Vector{};
              store(dx + to, alone ? share : load(dx + to) + share);
            });
      });
}

void avg_pool(const PoolLoop& p, const float* x, float* y) {
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

void avg_pool_backward(const PoolLoop& p, const float* dy, float* dx) {
  clear_unless_tiled(p, dx);
  const bool alone = disjoint(p);
  const auto count = static_cast<float>(p.kernel[0] * p.kernel[1]);
  each_window(
      p, [&](const Window& w, std::int64_t at) __attribute__((always_inline)) {
        const Vector share = load(dy + at) / count;
        each_tap(
            p, w, [&](std::int64_t to, std::int32_t) __attribute__((always_inline)) {
              store(dx + to, alone ? share : load(dx + to) + share);
            });
      });
}

// ---- optimizers (formulas: update.cpp)

void sgd(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin, std::int64_t end) {
  const auto lr = static_cast<float>(rule.lr), decay = static_cast<float>(rule.weight_decay),
             momentum = static_cast<float>(rule.momentum),
             scale = static_cast<float>(rule.gradient_scale);
  const float *w = a.weights, *gradient = a.gradient;
  float *next = a.new_weights, *velocity = a.first_moment;
  if (momentum == 0) {
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i)
      next[i] = w[i] - lr * (gradient[i] * scale + decay * w[i]);
    return;
  }
  const float of_gradient = rule.nesterov ? 1.0f : 0.0f,
              of_velocity = rule.nesterov ? momentum : 1.0f;
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * scale + decay * w[i];
    const float v = momentum * velocity[i] + g;
    velocity[i] = v;
    next[i] = w[i] - lr * (of_gradient * g + of_velocity * v);
  }
}

void adam(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin, std::int64_t end) {
  const auto step = static_cast<double>(rule.step);
  const double unbias1 = 1 - __builtin_pow(rule.beta1, step),
               unbias2 = 1 - __builtin_pow(rule.beta2, step);
  const bool decoupled = rule.kind == UpdateRule::Kind::AdamW;
  const auto rate = static_cast<float>(rule.lr / unbias1), eps = static_cast<float>(rule.eps),
             root = static_cast<float>(1 / __builtin_sqrt(unbias2)),
             beta1 = static_cast<float>(rule.beta1), beta2 = static_cast<float>(rule.beta2),
             rest1 = static_cast<float>(1 - rule.beta1), rest2 = static_cast<float>(1 - rule.beta2),
             scale = static_cast<float>(rule.gradient_scale),
             in_gradient = static_cast<float>(decoupled ? 0 : rule.weight_decay),
             keep = static_cast<float>(decoupled ? 1 - rule.lr * rule.weight_decay : 1);
  const float *w = a.weights, *gradient = a.gradient;
  float *next = a.new_weights, *first = a.first_moment, *second = a.second_moment;
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * scale + in_gradient * w[i];
    const float m = beta1 * first[i] + rest1 * g, v = beta2 * second[i] + rest2 * g * g;
    first[i] = m;
    second[i] = v;
    next[i] = w[i] * keep - rate * m / (__builtin_sqrtf(v) * root + eps);
  }
}

void update(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin,
            std::int64_t end) {
  if (rule.kind == UpdateRule::Kind::Sgd)
    sgd(rule, a, begin, end);
  else
    adam(rule, a, begin, end);
}

double sum_of_squares(const float* values, std::int64_t count) {
  Doubles sums[4] = {};
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    for (int part = 0; part < 4; ++part) {
      HalfVector half;
      std::memcpy(&half, values + i + 8 * part, sizeof half);
      const Doubles wide = __builtin_convertvector(half, Doubles);
      sums[part] += wide * wide;
    }
  const Doubles total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += total[lane];
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}

}  // namespace

const VectorLoops& PIPETRAIN_LOOPS() {
  static constexpr VectorLoops loops = {
      .linear_forward = linear_forward,
      .linear_backward_weight = linear_backward_weight,
      .few_channels_forward = few_channels_forward,
      .few_channels_weight = few_channels_weight,
      .sum_pixels = sum_pixels,
      .relu_forward = relu_forward,
      .relu_backward = relu_backward,
      .add = add,
      .drop = drop,
      .moments = moments,
      .normalise = normalise,
      .gradient_sums = gradient_sums,
      .normalise_backward = normalise_backward,
      .max_pool = max_pool,
      .max_pool_backward = max_pool_backward,
      .avg_pool = avg_pool,
      .avg_pool_backward = avg_pool_backward,
      .transpose_tile = transpose_tile,
      .update = update,
      .sum_of_squares = sum_of_squares,
  };
  return loops;
}

}  // namespace pipetrain::cpu
