// Small products of f32 matrices: tiles of six rows and up to four vectors stay in registers while
// the sum runs. Included by vector_loops.inl.

constexpr std::int64_t kProductVectors = kSums >= 24 ? 4 : 1,
                       kRowsTogether = kSums >= 6 ? kProductRows : kSums;

// c[r] (+)= sum over k of a[r a_row + k a_step] b[k b_step ..], for whole vectors of c.
struct Product {
  const float* a;
  std::int64_t a_row, a_step;
  const float* b;
  std::int64_t b_step;
  float* c;
  std::int64_t c_row;
  bool accumulate = false;
};

template <int Rows, int Vectors>
PIPETRAIN_INLINE void product_tile(const Product& p, std::int64_t column, std::int64_t depth) {
  Vector sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = p.accumulate ? load(p.c + r * p.c_row + column + v * kLanes) : Vector{};
  const float *a = p.a, *b = p.b + column;
  for (std::int64_t k = 0; k < depth; ++k, a += p.a_step, b += p.b_step) {
    Vector row[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const float value = a[r * p.a_row];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] += value * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) store(p.c + r * p.c_row + column + v * kLanes, sum[r][v]);
}

// Up to six rows of `vectors` vectors.
void multiply(const Product& of, std::int64_t rows, std::int64_t vectors, std::int64_t depth) {
  Product p = of;
  for (std::int64_t r = 0; r < rows; r += kRowsTogether) {
    with_number<kRowsTogether>(rows - r, [&]<int Rows>(Number<Rows>) {
      for (std::int64_t v = 0; v < vectors; v += kProductVectors)
        with_number<kProductVectors>(vectors - v, [&]<int Vectors>(Number<Vectors>) {
          product_tile<Rows, Vectors>(p, v * kLanes, depth);
        });
    });
    p.a += kRowsTogether * p.a_row;
    p.c += kRowsTogether * p.c_row;
  }
}
