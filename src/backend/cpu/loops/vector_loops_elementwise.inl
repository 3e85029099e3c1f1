// Elementwise loops: arguments may be the same memory but must not overlap otherwise. Included by
// vector_loops.inl.

// Calls body(index, lanes) for 16 elements at a time, then for the rest.
template <class Body>
PIPETRAIN_INLINE void by_vectors(std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, Whole{});
  if (i < count) body(i, Part{count - i});
}

template <class E>
void relu_forward(const E* x, E* y, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        lanes.put(y + i, positive_part(lanes.get(x + i)));
      });
}

template <class E>
void relu_backward(const E* y, const E* dy, E* dx, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        lanes.put(dx + i, where_positive(lanes.get(y + i), lanes.get(dy + i)));
      });
}

template <class E>
void add(const E* a, const E* b, E* sum, std::int64_t count, bool with_relu) {
  const float floor = with_relu ? 0.0f : -std::numeric_limits<float>::infinity();
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector v = lanes.get(a + i) + lanes.get(b + i);
        lanes.put(sum + i, select(v < floor, Vector{} + floor, v));
      });
}

template <class E>
void drop(const E* x, const std::uint8_t* kept, float scale, E* y, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector v = lanes.get(x + i) * scale;
        lanes.put(y + i, select(convert<Ints>(lanes.get(kept + i)) != 0, v, Vector{}));
      });
}

template <class E>
void add_rows(const E* rows, std::int64_t count, std::int64_t stride, std::int64_t lanes,
              float* sums) {
  Vector sum = load_lanes(sums, lanes);
  for (std::int64_t r = 0; r < count; ++r) sum += load_lanes(rows + r * stride, lanes);
  store_lanes(sums, sum, lanes);
}

template <class E>
void widen(const E* from, float* to, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes)
                 __attribute__((always_inline)) { lanes.put(to + i, lanes.get(from + i)); });
}

template <class E>
void narrow(const float* from, E* to, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes)
                 __attribute__((always_inline)) { lanes.put(to + i, lanes.get(from + i)); });
}

template <class E>
PIPETRAIN_INLINE void fill_zeros(E* to, std::int64_t count) {
  by_vectors(
      count, [&](std::int64_t i, auto lanes)
                 __attribute__((always_inline)) { lanes.put(to + i, Vector{}); });
}
