// Attention of one head of one sample, six queries at a time: their scores over all keys, or over
// the keys up to them, stay in the nearest cache, so no T x T matrix exists. Backward recomputes
// the probabilities from each row's largest score and sum (Dao et al. 2022, section 3.1), for
// blocks of 64 queries; a block's share of the gradients of keys and values is one product each.
// Operands of products are first packed to f32, in rows of whole vectors; keys that take no part
// are not packed, so that padding costs nothing, wherever it is. Included by vector_loops.inl.

PIPETRAIN_INLINE std::int64_t whole_vectors(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

// The row, in inputs and outputs, of a key that takes part.
PIPETRAIN_INLINE std::int64_t row_of_key(const AttentionLoop& l, std::int64_t key) {
  return l.kept ? l.kept[key] : key;
}
// How many of the keys a query sees; they are the first ones.
PIPETRAIN_INLINE std::int64_t keys_seen(const AttentionLoop& l, std::int64_t query) {
  if (!l.causal) return l.keys;
  return l.seen ? l.seen[query] : query + 1;
}

template <class E>
PIPETRAIN_INLINE void pack_row(const E* from, std::int64_t width, float scale, float* to) {
  by_vectors(
      width, [&](std::int64_t c, auto lanes)
                 __attribute__((always_inline)) { store(to + c, lanes.get(from + c) * scale); });
}

template <class E>
PIPETRAIN_INLINE void pack_rows(const E* from, std::int64_t stride, std::int64_t rows,
                                std::int64_t width, float scale, float* to) {
  const std::int64_t wide = whole_vectors(width);
  for (std::int64_t row = 0; row < rows; ++row)
    pack_row(from + row * stride, width, scale, to + row * wide);
}

// Packs the keys, or values, that take part: [keys][head_width].
template <class E>
PIPETRAIN_INLINE void pack_keys(const AttentionLoop& l, const E* from, float* to) {
  const std::int64_t wide = whole_vectors(l.head_width);
  for (std::int64_t key = 0; key < l.keys; ++key)
    pack_row(from + row_of_key(l, key) * l.key_stride, l.head_width, 1, to + key * wide);
}

// The same, transposed: [head_width][keys], zero-padded in both dimensions.
template <class E>
PIPETRAIN_INLINE void pack_keys_turned(const AttentionLoop& l, const E* from, float* to) {
  const std::int64_t wide = whole_vectors(l.keys);
  for (std::int64_t first = 0; first < l.keys; first += kLanes)
    by_vectors(
        l.head_width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
          Vector tile[16] = {};
          for (std::int64_t i = 0; i < lesser(l.keys - first, kLanes); ++i)
            tile[i] = lanes.get(from + row_of_key(l, first + i) * l.key_stride + c);
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

// Scores to exp(s - largest) for the keys of a row, with zeros after them.
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
void attention(const AttentionLoop& l, const AttentionRows<const E>& in, E* y, RowSoftmax* softmax,
               float* scratch) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.keys);
  float *const keys = scratch, *const values = keys + width * length,
               *const query = values + l.keys * width, *const s = query + kProductRows * width,
               *const sum = s + kProductRows * length;
  pack_keys_turned(l, in.keys, keys);
  pack_keys(l, in.values, values);
  for (std::int64_t t = 0; t < l.queries; t += kProductRows) {
    const std::int64_t rows = lesser(kProductRows, l.queries - t),
                       seen = keys_seen(l, t + rows - 1), filled = whole_vectors(seen);
    pack_rows(in.queries + t * l.query_stride, l.query_stride, rows, l.head_width, l.scale, query);
    multiply({query, width, 1, keys, length, s, length}, rows, filled / kLanes, l.head_width);
    RowSoftmax of[kProductRows];
    for (std::int64_t r = 0; r < rows; ++r)
      of[r] = softmax_row(s + r * length, keys_seen(l, t + r), filled);
    multiply({s, length, 1, values, width, sum, width}, rows, width / kLanes, seen);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float share = keys_seen(l, t + r) > 0 ? 1 / of[r].sum : 0;
      unpack_row(sum + r * width, l.head_width, share, y + (t + r) * l.output_stride);
      if (softmax) softmax[t + r] = of[r];
    }
  }
}

// Turns scores s into probabilities p, and dp, the gradients of p, into those of the scores: p (dp
// - p . dp).
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

// What the steps over a head's blocks share.
struct AttentionGradients {
  float *keys, *keys_turned, *values_turned;  // packed
  float *key_sums, *value_sums;               // gradients, [keys][width]
  float *query, *dy, *p, *ds, *sum;           // of one block: [64][width], [64][keys]
};

PIPETRAIN_INLINE AttentionGradients share_scratch(const AttentionLoop& l, float* scratch) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.keys);
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

// The gradients of the queries of a block that begins at `first`, if they are wanted, and the
// block's p and ds.
template <class E>
PIPETRAIN_INLINE void query_gradients(const AttentionLoop& l, const AttentionGradients& g,
                                      const RowSoftmax* softmax, std::int64_t first,
                                      std::int64_t end, E* to) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.keys);
  for (std::int64_t t = first; t < end; t += kProductRows) {
    const std::int64_t rows = lesser(kProductRows, end - t), seen = keys_seen(l, t + rows - 1),
                       vectors = whole_vectors(seen) / kLanes, at = t - first;
    // A tile of keys may extend past the last key of a row: there must be zeros there.
    const std::int64_t filled = lesser((vectors + 1) * kLanes, length);
    float *const p = g.p + at * length, *const ds = g.ds + at * length;
    multiply({g.query + at * width, width, 1, g.keys_turned, length, p, length}, rows, vectors,
             l.head_width);
    multiply({g.dy + at * width, width, 1, g.values_turned, length, ds, length}, rows, vectors,
             l.head_width);
    for (std::int64_t r = 0; r < rows; ++r)
      score_gradients(p + r * length, ds + r * length, keys_seen(l, t + r), filled, softmax[t + r]);
    if (!to) continue;
    multiply({ds, length, 1, g.keys, width, g.sum, width}, rows, width / kLanes, seen);
    for (std::int64_t r = 0; r < rows; ++r)
      unpack_row(g.sum + r * width, l.head_width, l.scale, to + (t + r) * l.query_stride);
  }
}

// Adds a block's share of the gradients of keys and values.
PIPETRAIN_INLINE void key_gradients(const AttentionLoop& l, const AttentionGradients& g,
                                    std::int64_t first, std::int64_t end) {
  const std::int64_t width = whole_vectors(l.head_width), length = whole_vectors(l.keys),
                     keys = keys_seen(l, end - 1);
  for (std::int64_t u = 0; u < keys; u += kProductRows) {
    const std::int64_t rows = lesser(kProductRows, keys - u),
                       from = l.causal ? greater(first, row_of_key(l, u)) - first : 0;
    const auto add = [&](const float* scores, const float* block, float* sums) {
      multiply({scores + from * length + u, 1, length, block + from * width, width,
                sums + u * width, width, true},
               rows, width / kLanes, end - first - from);
    };
    add(g.ds, g.query, g.key_sums);
    add(g.p, g.dy, g.value_sums);
  }
}

// Moves [keys][head_width] to the keys' rows, and writes zeros to the others.
template <class E>
PIPETRAIN_INLINE void unpack_keys(const AttentionLoop& l, const float* from, E* to) {
  const std::int64_t width = whole_vectors(l.head_width);
  if (!to) return;
  if (l.keys < l.key_rows)
    for (std::int64_t row = 0; row < l.key_rows; ++row)
      for (std::int64_t c = 0; c < l.head_width; ++c) to[row * l.key_stride + c] = E{};
  for (std::int64_t key = 0; key < l.keys; ++key)
    unpack_row(from + key * width, l.head_width, 1, to + row_of_key(l, key) * l.key_stride);
}

template <class E>
void attention_backward(const AttentionLoop& l, const AttentionRows<const E>& in,
                        const RowSoftmax* softmax, const E* dy, const AttentionRows<E>& gradients,
                        float* scratch) {
  const std::int64_t width = whole_vectors(l.head_width);
  const AttentionGradients g = share_scratch(l, scratch);
  pack_keys(l, in.keys, g.keys);
  pack_keys_turned(l, in.keys, g.keys_turned);
  pack_keys_turned(l, in.values, g.values_turned);
  for (std::int64_t i = 0; i < l.keys * width; i += kLanes) {
    store(g.key_sums + i, Vector{});
    store(g.value_sums + i, Vector{});
  }
  for (std::int64_t first = 0; first < l.queries; first += kAttentionRows) {
    const std::int64_t end = lesser(first + kAttentionRows, l.queries);
    pack_rows(in.queries + first * l.query_stride, l.query_stride, end - first, l.head_width,
              l.scale, g.query);
    pack_rows(dy + first * l.output_stride, l.output_stride, end - first, l.head_width, 1, g.dy);
    query_gradients(l, g, softmax, first, end, gradients.queries);
    key_gradients(l, g, first, end);
  }
  unpack_keys(l, g.key_sums, gradients.keys);
  unpack_keys(l, g.value_sums, gradients.values);
}
