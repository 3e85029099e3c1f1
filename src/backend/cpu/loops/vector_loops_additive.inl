// Additive attention. Forward computes the tanh of every pair of a query and a key, and backward
// computes it again; only the softmax' weights are kept. Contracts: additive_loops.hpp. Included by
// vector_loops.inl.

PIPETRAIN_INLINE std::int64_t row_of_key(const AdditiveLoop& l, std::int64_t key) {
  return l.kept ? l.kept[key] : key;
}

template <class E, class Lanes>
PIPETRAIN_INLINE Vector query_vector(const AdditiveLoop& l, const E* query, std::int64_t n,
                                     Lanes lanes) {
  const Vector q = lanes.get(query + n);
  return l.bias ? q + lanes.get(l.bias + n) : q;
}

// query: [units], with the bias added.
template <class E>
PIPETRAIN_INLINE float additive_score(const AdditiveLoop& l, const float* query, const E* key) {
  Vector sum{};
  by_vectors(
      l.units, [&](std::int64_t n, auto lanes) __attribute__((always_inline)) {
        sum += lanes.get(l.v + n) * tanh_of(lanes.get(query + n) + lanes.get(key + n));
      });
  return sum_lanes(sum);
}

template <class E>
void additive_attention(const AdditiveLoop& l, const AdditiveRows<const E>& in, float* p, E* y,
                        float* scratch) {
  const std::int64_t filled = whole_vectors(l.keys);
  float *const query = scratch, *const weights = query + whole_vectors(l.units);
  by_vectors(
      l.units, [&](std::int64_t n, auto lanes) __attribute__((always_inline)) {
        lanes.put(query + n, query_vector(l, in.queries, n, lanes));
      });
  for (std::int64_t s = 0; s < l.keys; ++s)
    weights[s] = additive_score(l, query, in.keys + row_of_key(l, s) * l.units);
  const RowSoftmax softmax = softmax_row(weights, l.keys, filled);
  for (std::int64_t s = 0; s < l.keys; ++s) p[s] = weights[s] / softmax.sum;
  by_vectors(
      l.width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
        Vector sum{};
        for (std::int64_t s = 0; s < l.keys; ++s)
          sum += p[s] * lanes.get(in.values + row_of_key(l, s) * l.width + c);
        lanes.put(y + c, sum);
      });
}

struct AdditiveSums {
  float *keys, *values;  // [keys][units], [keys][width], rows of whole vectors
  float* ds;             // [keys]
};

// The gradients of a query's scores, and its share of the values' gradients.
template <class E>
PIPETRAIN_INLINE void additive_score_gradients(const AdditiveLoop& l, const E* values, const E* dy,
                                               const float* p, const AdditiveSums& sums) {
  const std::int64_t wide = whole_vectors(l.width);
  float mean = 0;
  for (std::int64_t s = 0; s < l.keys; ++s) {
    const E* const value = values + row_of_key(l, s) * l.width;
    float* const sum = sums.values + s * wide;
    Vector product{};
    by_vectors(
        l.width, [&](std::int64_t c, auto lanes) __attribute__((always_inline)) {
          const Vector of_y = lanes.get(dy + c);
          product += of_y * lanes.get(value + c);
          store(sum + c, load(sum + c) + p[s] * of_y);
        });
    sums.ds[s] = sum_lanes(product);
    mean += p[s] * sums.ds[s];
  }
  for (std::int64_t s = 0; s < l.keys; ++s) sums.ds[s] = p[s] * (sums.ds[s] - mean);
}

// Back through the tanh, for one query: gradients of the query, the keys, v and the bias.
template <class E>
PIPETRAIN_INLINE void additive_inner_gradients(const AdditiveLoop& l, const AdditiveBackward<E>& b,
                                               std::int64_t query, const AdditiveSums& sums) {
  const std::int64_t wide = whole_vectors(l.units);
  by_vectors(
      l.units, [&](std::int64_t n, auto lanes) __attribute__((always_inline)) {
        const Vector q = query_vector(l, b.in.queries + query * l.units, n, lanes),
                     v = lanes.get(l.v + n);
        Vector of_query{}, of_v{};
        for (std::int64_t s = 0; s < l.keys; ++s) {
          const Vector bent = tanh_of(q + lanes.get(b.in.keys + row_of_key(l, s) * l.units + n));
          const Vector inner = sums.ds[s] * v * (1.0f - bent * bent);
          float* const of_key = sums.keys + s * wide + n;
          store(of_key, load(of_key) + inner);
          of_query += inner;
          of_v += sums.ds[s] * bent;
        }
        if (b.gradients.queries) lanes.put(b.gradients.queries + query * l.units + n, of_query);
        lanes.put(b.bias + n, lanes.get(b.bias + n) + of_query);
        lanes.put(b.v + n, lanes.get(b.v + n) + of_v);
      });
}

// Moves [keys][columns] to the keys' rows, and writes zeros to the others.
template <class E>
PIPETRAIN_INLINE void unpack_additive(const AdditiveLoop& l, const float* from,
                                      std::int64_t columns, E* to) {
  if (!to) return;
  if (l.keys < l.key_rows) fill_zeros(to, l.key_rows * columns);
  for (std::int64_t s = 0; s < l.keys; ++s)
    unpack_row(from + s * whole_vectors(columns), columns, 1, to + row_of_key(l, s) * columns);
}

template <class E>
void additive_attention_backward(const AdditiveLoop& l, const AdditiveBackward<E>& b,
                                 float* scratch) {
  const std::int64_t of_keys = l.keys * whole_vectors(l.units),
                     of_values = l.keys * whole_vectors(l.width);
  const AdditiveSums sums{scratch, scratch + of_keys, scratch + of_keys + of_values};
  fill_zeros(scratch, of_keys + of_values);
  fill_zeros(b.v, l.units);
  fill_zeros(b.bias, l.units);
  for (std::int64_t t = 0; t < l.queries; ++t) {
    additive_score_gradients(l, b.in.values, b.dy + t * l.width, b.p + t * l.key_rows, sums);
    additive_inner_gradients(l, b, t, sums);
  }
  unpack_additive(l, sums.keys, l.units, b.gradients.keys);
  unpack_additive(l, sums.values, l.width, b.gradients.values);
}
