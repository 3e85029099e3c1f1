// Elementwise, left to the compiler: arguments may be the same memory, and never overlap otherwise.
// Included by vector_loops.inl.

void relu_forward(const float* x, float* y, std::int64_t count) {
  PIPETRAIN_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
}

void relu_backward(const float* y, const float* dy, float* dx, std::int64_t count) {
  PIPETRAIN_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = dy[i];
    dx[i] = y[i] > 0 ? g : 0.0f;
  }
}

void add(const float* a, const float* b, float* sum, std::int64_t count, bool rectify) {
  const float floor = rectify ? 0.0f : -std::numeric_limits<float>::infinity();
  PIPETRAIN_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = a[i] + b[i];
    sum[i] = v < floor ? floor : v;
  }
}

void drop(const float* x, const std::uint8_t* kept, float scale, float* y, std::int64_t count) {
  PIPETRAIN_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = x[i] * scale;
    y[i] = kept[i] ? v : 0.0f;
  }
}
