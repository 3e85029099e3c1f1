// Loops over rows: layer_norm, tables and sums over rows, softmax. Contracts: sequence_loops.hpp.
// Included by vector_loops.inl.

template <class Body>
PIPETRAIN_INLINE void by_vectors_between(std::int64_t begin, std::int64_t end, Body body) {
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) body(i, Whole{});
  if (i < end) body(i, Part{end - i});
}

// A first mean is corrected by the deviations from it, so that a large mean does not swamp the
// variance.
template <class E>
PIPETRAIN_INLINE void row_statistics(const E* x, std::int64_t width, float eps, float* statistics) {
  const auto count = static_cast<float>(width);
  Vector sum{}, squares{}, rest{};
  by_vectors(
      width, [&](std::int64_t c, auto lanes)
                 __attribute__((always_inline)) { sum += lanes.get(x + c); });
  const float mean = sum_lanes(sum) / count;
  by_vectors(
      width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
        const Vector apart = kept_lanes(lanes, lanes.get(x + c) - mean);
        rest += apart;
        squares += apart * apart;
      });
  const float correction = sum_lanes(rest) / count;
  const float variance = sum_lanes(squares) / count - correction * correction;
  statistics[0] = mean + correction;
  statistics[1] = 1 / __builtin_sqrtf((variance > 0 ? variance : 0) + eps);
}

template <class E>
void layer_norm(const LayerNormLoop& l, std::int64_t rows, const E* x, E* y, float* statistics) {
  for (std::int64_t row = 0; row < rows; ++row, x += l.width, y += l.width) {
    float of[2];
    row_statistics(x, l.width, l.eps, of);
    by_vectors(
        l.width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
          Vector v = (lanes.get(x + c) - of[0]) * of[1] * lanes.get(l.gamma + c);
          if (l.beta) v += lanes.get(l.beta + c);
          lanes.put(y + c, v);
        });
    if (!statistics) continue;
    statistics[2 * row] = of[0];
    statistics[2 * row + 1] = of[1];
  }
}

template <class E>
void layer_norm_backward(const LayerNormLoop& l, std::int64_t rows, const E* x,
                         const float* statistics, const E* dy, E* dx) {
  const auto count = static_cast<float>(l.width);
  for (std::int64_t row = 0; row < rows; ++row, x += l.width, dy += l.width, dx += l.width) {
    const float mean = statistics[2 * row], scale = statistics[2 * row + 1];
    Vector sum{}, product{};
    by_vectors(
        l.width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
          const Vector g = lanes.get(l.gamma + c) * lanes.get(dy + c);
          sum += g;
          product += g * (lanes.get(x + c) - mean);
        });
    const float shift = sum_lanes(sum) / count, slope = sum_lanes(product) / count * scale * scale;
    by_vectors(
        l.width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
          const Vector g = lanes.get(l.gamma + c) * lanes.get(dy + c);
          lanes.put(dx + c, scale * (g - shift - (lanes.get(x + c) - mean) * slope));
        });
  }
}

constexpr std::int64_t kSummedRows = 64;  // summed in sequence; these sums are then added up

template <class E, class Lanes>
PIPETRAIN_INLINE void layer_norm_column(const LayerNormWeightLoop& l, const E* x,
                                        const float* statistics, const E* dy, std::int64_t c,
                                        Lanes lanes) {
  Vector gamma = l.accumulate ? lanes.get(l.gamma + c) : Vector{};
  Vector beta = l.accumulate && l.beta ? lanes.get(l.beta + c) : Vector{};
  for (std::int64_t first = 0; first < l.rows; first += kSummedRows) {
    Vector product{}, sum{};
    for (std::int64_t row = first; row < lesser(first + kSummedRows, l.rows); ++row) {
      const Vector g = lanes.get(dy + row * l.width + c);
      sum += g;
      product +=
          g * ((lanes.get(x + row * l.width + c) - statistics[2 * row]) * statistics[2 * row + 1]);
    }
    gamma += product;
    beta += sum;
  }
  lanes.put(l.gamma + c, gamma);
  if (l.beta) lanes.put(l.beta + c, beta);
}

template <class E>
void layer_norm_weight(const LayerNormWeightLoop& l, const E* x, const float* statistics,
                       const E* dy, std::int64_t begin, std::int64_t end) {
  by_vectors_between(
      begin, end, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
        layer_norm_column(l, x, statistics, dy, c, lanes);
      });
}

template <class E>
void add_table(const E* x, const float* table, E* y, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        lanes.put(y + i, lanes.get(x + i) + lanes.get(table + i));
      });
}

template <class E>
void scale_row(const float* row, float scale, E* y, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes)
                 __attribute__((always_inline)) { lanes.put(y + i, scale * lanes.get(row + i)); });
}

template <class E>
void add_scaled(float* sum, const E* values, float scale, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        lanes.put(sum + i, lanes.get(sum + i) + scale * lanes.get(values + i));
      });
}

// Takes 64 columns at a time if there are that many and registers can hold their sums.
template <int Vectors, class E, class Lanes>
PIPETRAIN_INLINE void sum_column(const E* values, std::int64_t rows, std::int64_t width, float* sum,
                                 bool accumulate, Lanes lanes) {
  Vector total[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) total[v] = accumulate ? lanes.get(sum + v * kLanes) : Vector{};
  for (std::int64_t first = 0; first < rows; first += kSummedRows) {
    Vector part[Vectors] = {};
    for (std::int64_t row = first; row < lesser(first + kSummedRows, rows); ++row)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) part[v] += lanes.get(values + row * width + v * kLanes);
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) total[v] += part[v];
  }
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) lanes.put(sum + v * kLanes, total[v]);
}

template <class E>
void column_sums(const E* values, std::int64_t rows, std::int64_t width, float* sum,
                 bool accumulate, std::int64_t begin, std::int64_t end) {
  constexpr int together = kSums >= 8 ? 4 : 1;
  std::int64_t c = begin;
  for (; c + together * kLanes <= end; c += together * kLanes)
    sum_column<together>(values + c, rows, width, sum + c, accumulate, Whole{});
  by_vectors_between(
      c, end, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        sum_column<1>(values + i, rows, width, sum + i, accumulate, lanes);
      });
}

template <class E>
float largest(const E* y, std::int64_t count) {
  Vector most = Vector{} + (-std::numeric_limits<float>::infinity());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) most = larger(load(y + i), most);
  if (i < count) {
    const Vector last = load_some(y + i, count - i);
    most = select(is_before(count - i), larger(last, most), most);
  }
  return largest_lane(most);
}

template <class E>
double sum_of_exps(const E* y, std::int64_t count, float largest) {
  constexpr std::int64_t run = 1024;  // summed in f32
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += run) {
    Vector part{};
    by_vectors_between(
        first,
        lesser(first + run, count), [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
          part += kept_lanes(lanes, exp_of(lanes.get(y + i) - largest));
        });
    sum += static_cast<double>(sum_lanes(part));
  }
  return sum;
}

template <class E>
void exps(const E* y, std::int64_t count, float largest, float scale, E* to) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        lanes.put(to + i, scale * exp_of(lanes.get(y + i) - largest));
      });
}

template <class E>
std::int64_t not_below(const E* y, std::int64_t count, float value, bool ties) {
  Ints found{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vector v = load(y + i);
    found += ties ? ~(value > v) : ~(value >= v);  // -1 in each lane where the comparison holds
  }
  if (i < count) {
    const Vector v = load_some(y + i, count - i);
    found += is_before(count - i) & (ties ? ~(value > v) : ~(value >= v));
  }
  std::int32_t lanes[kLanes];
  write(lanes, found);
  std::int64_t sum = 0;
  for (const std::int32_t lane : lanes) sum -= lane;
  return sum;
}
