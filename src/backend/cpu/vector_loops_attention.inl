// Attention of one head of one sample, six queries at a time: their scores over all keys, or the
// keys up to them, lie in the nearest cache, so no matrix of T x T exists. Backward makes the
// probabilities again from each row's largest score and sum (Dao et al. 2022, section 3.1), for
// blocks of 64 queries, whose share of the gradients of keys and values is a product each. What is
// multiplied is packed to f32 before, rows of whole vectors. Included by vector_loops.inl.

PIPETRAIN_INLINE std::int64_t whole_vectors(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

template <class E>
PIPETRAIN_INLINE void pack_rows(const E* from, std::int64_t stride, std::int64_t rows,
                                std::int64_t width, float scale, float* to) {
  const std::int64_t wide = whole_vectors(width);
  for (std::int64_t row = 0; row < rows; ++row, from += stride, to += wide)
    by_vectors(
        width, [&](std::int64_t c, auto lanes)
                   __attribute__((always_inline)) { store(to + c, lanes.get(from + c) * scale); });
}

// [rows][width] -> [width][rows], zeros where either is filled up.
template <class E>
PIPETRAIN_INLINE void pack_columns(const E* from, std::int64_t stride, std::int64_t rows,
                                   std::int64_t width, float* to) {
  const std::int64_t wide = whole_vectors(rows);
  for (std::int64_t first = 0; first < rows; first += kLanes)
    by_vectors(
        width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
          Vector tile[16] = {};
          for (std::int64_t i = 0; i < lesser(rows - first, kLanes); ++i)
            tile[i] = lanes.get(from + (first + i) * stride + c);
          transpose(tile);
          for (int i = 0; i < kLanes; ++i) store(to + (c + i) * wide + first, tile[i]);
        });
}

template <class E>
PIPETRAIN_INLINE void unpack_row(const float* from, std::int64_t width, float scale, E* to) {
  by_vectors(
      width, [&](std::int64_t c, auto lanes)
                 __attribute__((always_inline)) { lanes.put(to + c, load(from + c) * scale); });
}

// exp(s - largest) of a row's keys, zeros behind them.
PIPETRAIN_INLINE RowSoftmax softmax_row(float* s, std::int64_t keys, std::int64_t filled) {
  const float most = largest(s, keys);
  Vector sum{};
  by_vectors(
      keys, [&](std::int64_t u, auto lanes) __attribute__((always_inline)) {
        const Vector p = kept_lanes(lanes, exp_of(load(s + u) - most));
        store(s + u, p);
        sum += p;
      });
  for (std::int64_t u = whole_vectors(keys); u < filled; u += kLanes) store(s + u, Vector{});
  return {most, sum_lanes(sum)};
}

template <class E>
void attention(const AttentionLoop& l, const E* queries, E* y, RowSoftmax* softmax,
               float* scratch) {
  const std::int64_t stride = 3 * l.width, width = whole_vectors(l.head_width),
                     length = whole_vectors(l.length);
  float *const keys = scratch, *const values = keys + width * length,
               *const query = values + l.length * width, *const s = query + kProductRows * width,
               *const sum = s + kProductRows * length;
  pack_columns(queries + l.width, stride, l.length, l.head_width, keys);
  pack_rows(queries + 2 * l.width, stride, l.length, l.head_width, 1, values);
  for (std::int64_t t = 0; t < l.length; t += kProductRows) {
    const std::int64_t rows = lesser(kProductRows, l.length - t),
                       seen = l.causal ? t + rows : l.length, filled = whole_vectors(seen);
    pack_rows(queries + t * stride, stride, rows, l.head_width, l.scale, query);
    multiply({query, width, 1, keys, length, s, length}, rows, filled / kLanes, l.head_width);
    RowSoftmax of[kProductRows];
    for (std::int64_t r = 0; r < rows; ++r)
      of[r] = softmax_row(s + r * length, l.causal ? t + r + 1 : l.length, filled);
    multiply({s, length, 1, values, width, sum, width}, rows, width / kLanes, seen);
    for (std::int64_t r = 0; r < rows; ++r) {
      unpack_row(sum + r * width, l.head_width, 1 / of[r].sum, y + (t + r) * l.width);
      if (softmax) softmax[t + r] = of[r];
    }
  }
}

// Scores to probabilities p, and their gradients dp to those of the scores, p (dp - p . dp).
PIPETRAIN_INLINE void score_gradients(float* s, float* dp, std::int64_t keys, std::int64_t filled,
                                      const RowSoftmax& softmax) {
  const float share = 1 / softmax.sum;
  Vector sum{};
  by_vectors(
      keys, [&](std::int64_t u, auto lanes) __attribute__((always_inline)) {
        const Vector p = kept_lanes(lanes, exp_of(load(s + u) - softmax.largest) * share);
        store(s + u, p);
        sum += p * load(dp + u);
      });
  const float mean = sum_lanes(sum);
  for (std::int64_t u = 0; u < keys; u += kLanes)
    store(dp + u, load(s + u) * (load(dp + u) - mean));
  for (std::int64_t u = whole_vectors(keys); u < filled; u += kLanes) {
    store(s + u, Vector{});
    store(dp + u, Vector{});
  }
}

// What the passes over a head's blocks share.
struct AttentionGradients {
  float *keys, *keys_turned, *values_turned;  // packed
  float *key_sums, *value_sums;               // gradients, [length][width]
  float *query, *dy, *p, *ds, *sum;           // of a block: [64][width], [64][length]
};

PIPETRAIN_INLINE AttentionGradients share_scratch(const AttentionLoop& l, float* scratch) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.length);
  const auto take = [&](std::int64_t count) {
    float* const taken = scratch;
    scratch += count;
    return taken;
  };
  AttentionGradients g;
  for (float** matrix : {&g.keys, &g.keys_turned, &g.values_turned, &g.key_sums, &g.value_sums})
    *matrix = take(length * width);
  for (float** block : {&g.query, &g.dy}) *block = take(kAttentionRows * width);
  for (float** block : {&g.p, &g.ds}) *block = take(kAttentionRows * length);
  g.sum = take(kProductRows * width);
  return g;
}

// The queries' gradients of a block that begins at `first`, and its p and ds.
template <class E>
PIPETRAIN_INLINE void query_gradients(const AttentionLoop& l, const AttentionGradients& g,
                                      const RowSoftmax* softmax, std::int64_t first,
                                      std::int64_t end, E* to) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.length);
  for (std::int64_t t = first; t < end; t += kProductRows) {
    const std::int64_t rows = lesser(kProductRows, end - t), seen = l.causal ? t + rows : l.length,
                       vectors = whole_vectors(seen) / kLanes, at = t - first;
    // A tile of keys may reach behind the last one of a row: zeros stand there.
    const std::int64_t filled = lesser((vectors + 1) * kLanes, length);
    float *const p = g.p + at * length, *const ds = g.ds + at * length;
    multiply({g.query + at * width, width, 1, g.keys_turned, length, p, length}, rows, vectors,
             l.head_width);
    multiply({g.dy + at * width, width, 1, g.values_turned, length, ds, length}, rows, vectors,
             l.head_width);
    for (std::int64_t r = 0; r < rows; ++r)
      score_gradients(p + r * length, ds + r * length, l.causal ? t + r + 1 : l.length, filled,
                      softmax[t + r]);
    multiply({ds, length, 1, g.keys, width, g.sum, width}, rows, width / kLanes, seen);
    for (std::int64_t r = 0; r < rows; ++r)
      unpack_row(g.sum + r * width, l.head_width, l.scale, to + (t + r) * 3 * l.width);
  }
}

// Adds a block's share of the keys' and values' gradients.
PIPETRAIN_INLINE void key_gradients(const AttentionLoop& l, const AttentionGradients& g,
                                    std::int64_t first, std::int64_t end) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.length),
                     keys = l.causal ? end : l.length;
  for (std::int64_t u = 0; u < keys; u += kProductRows) {
    const std::int64_t rows = lesser(kProductRows, keys - u),
                       from = l.causal ? greater(first, u) - first : 0;
    const auto add = [&](const float* scores, const float* block, float* sums) {
      multiply({scores + from * length + u, 1, length, block + from * width, width,
                sums + u * width, width, true},
               rows, width / kLanes, end - first - from);
    };
    add(g.ds, g.query, g.key_sums);
    add(g.p, g.dy, g.value_sums);
  }
}

template <class E>
void attention_backward(const AttentionLoop& l, const E* queries, const RowSoftmax* softmax,
                        const E* dy, E* gradients, float* scratch) {
  const std::int64_t stride = 3 * l.width, width = whole_vectors(l.head_width);
  const AttentionGradients g = share_scratch(l, scratch);
  pack_rows(queries + l.width, stride, l.length, l.head_width, 1, g.keys);
  pack_columns(queries + l.width, stride, l.length, l.head_width, g.keys_turned);
  pack_columns(queries + 2 * l.width, stride, l.length, l.head_width, g.values_turned);
  for (std::int64_t i = 0; i < l.length * width; i += kLanes) {
    store(g.key_sums + i, Vector{});
    store(g.value_sums + i, Vector{});
  }
  for (std::int64_t first = 0; first < l.length; first += kAttentionRows) {
    const std::int64_t end = lesser(first + kAttentionRows, l.length);
    pack_rows(queries + first * stride, stride, end - first, l.head_width, l.scale, g.query);
    pack_rows(dy + first * l.width, l.width, end - first, l.head_width, 1, g.dy);
    query_gradients(l, g, softmax, first, end, gradients);
    key_gradients(l, g, first, end);
  }
  for (std::int64_t t = 0; t < l.length; ++t) {
    unpack_row(g.key_sums + t * width, l.head_width, 1, gradients + t * stride + l.width);
    unpack_row(g.value_sums + t * width, l.head_width, 1, gradients + t * stride + 2 * l.width);
  }
}
