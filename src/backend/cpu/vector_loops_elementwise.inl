// Elementwise, left to the compiler: arguments may be the same memory, and never overlap otherwise.
// Included by vector_loops.inl.

// A vector of sgd's update (update.cpp), wherever it is done: the same operations, so the same bits.
struct SgdStep {
  float lr, decay, momentum, scale, of_gradient, of_velocity;
};

PIPETRAIN_INLINE SgdStep sgd_step(const UpdateRule& rule) {
  const auto momentum = static_cast<float>(rule.momentum);
  return {.lr = static_cast<float>(rule.lr),
          .decay = static_cast<float>(rule.weight_decay),
          .momentum = momentum,
          .scale = static_cast<float>(rule.gradient_scale),
          .of_gradient = rule.nesterov ? 1.0f : 0.0f,
          .of_velocity = rule.nesterov ? momentum : 1.0f};
}

// velocity: null without momentum.
PIPETRAIN_INLINE Vector sgd_vector(const SgdStep& step, const Vector& w, const Vector& gradient,
                                   Vector* velocity) {
  const Vector g = gradient * step.scale + step.decay * w;
  if (!velocity) return w - step.lr * g;
  const Vector v = step.momentum * *velocity + g;
  *velocity = v;
  return w - step.lr * (step.of_gradient * g + step.of_velocity * v);
}

PIPETRAIN_INLINE void add_squares(const Vector& v, Doubles (&sums)[2]) {
  HalfVector halves[2];
  std::memcpy(halves, &v, sizeof v);
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const Doubles wide = __builtin_convertvector(halves[h], Doubles);
    sums[h] += wide * wide;
  }
}

PIPETRAIN_INLINE double sum_lanes(const Doubles& v) {
  double sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += v[lane];
  return sum;
}

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
