// Transposition of tiles of 16 x 16. Included by vector_loops.inl.

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

// A whole tile stays in registers.
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
