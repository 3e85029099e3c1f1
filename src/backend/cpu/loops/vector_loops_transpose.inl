// Transposition of tiles of 16 x 16. Included by vector_loops.inl.

// Swaps every other run of `Distance` lanes of the upper row with the run to its left in the lower
// row.
template <int Distance, class V, int... Lane>
PIPETRAIN_INLINE void exchange(V& upper, V& lower, std::integer_sequence<int, Lane...>) {
  constexpr int lanes = sizeof...(Lane);
  const V a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, (Lane & Distance ? lanes + Lane - Distance : Lane)...);
  lower = __builtin_shufflevector(a, b, (Lane & Distance ? lanes + Lane : Lane + Distance)...);
}

template <int Distance, class V, int Lanes>
PIPETRAIN_INLINE void exchange_from(V (&rows)[Lanes]) {
#pragma GCC unroll 16
  for (int r = 0; r < Lanes; ++r)
    if (!(r & Distance))
      exchange<Distance>(rows[r], rows[r + Distance], std::make_integer_sequence<int, Lanes>());
  if constexpr (Distance > 1) exchange_from<Distance / 2>(rows);
}

// Transposes a square tile: as many rows as a row has lanes.
template <class V, int Lanes>
PIPETRAIN_INLINE void transpose(V (&rows)[Lanes]) {
  if constexpr (!is_two<V>) {
    exchange_from<Lanes / 2>(rows);
  } else {
    constexpr int half = Lanes / 2;
    decltype(V::low) quarters[2][2][half];
#pragma GCC unroll 8
    for (int r = 0; r < half; ++r) {
      quarters[0][0][r] = rows[r].low;
      quarters[0][1][r] = rows[r].high;
      quarters[1][0][r] = rows[r + half].low;
      quarters[1][1][r] = rows[r + half].high;
    }
    for (auto& side : quarters)
      for (auto& quarter : side) transpose(quarter);
#pragma GCC unroll 8
    for (int r = 0; r < half; ++r) {
      rows[r] = {quarters[0][0][r], quarters[1][0][r]};
      rows[r + half] = {quarters[0][1][r], quarters[1][1][r]};
    }
  }
}

// The whole tile stays in registers.
template <class E>
PIPETRAIN_INLINE void transpose_whole_tile(const E* from, std::int64_t from_stride, E* to,
                                           std::int64_t to_stride) {
  Vector r[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = load(from + i * from_stride);
  transpose(r);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) store(to + i * to_stride, r[i]);
}

template <class E>
void transpose_tile(const E* from, std::int64_t from_stride, std::int64_t rows, E* to,
                    std::int64_t to_stride, std::int64_t columns) {
  if (rows == 16 && columns == 16) return transpose_whole_tile(from, from_stride, to, to_stride);
  Vector r[16] = {};
  for (std::int64_t i = 0; i < rows; ++i) r[i] = load(from + i * from_stride);
  transpose(r);
  for (std::int64_t i = 0; i < columns; ++i) store(to + i * to_stride, r[i]);
}
