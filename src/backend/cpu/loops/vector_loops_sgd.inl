// One vector of sgd's update (update.cpp) and of the gradient's sum of squares. Every caller does
// the same operations, so it gets the same bits. Included by vector_loops.inl.

enum class Sgd { Plain, Momentum, Nesterov };

PIPETRAIN_INLINE Sgd kind_of(const UpdateRule& rule) {
  return rule.momentum == 0 ? Sgd::Plain : rule.nesterov ? Sgd::Nesterov : Sgd::Momentum;
}

struct SgdStep {
  float lr, decay, momentum, scale, delta_decay, correction;
};

PIPETRAIN_INLINE SgdStep sgd_step(const UpdateRule& rule) {
  return {.lr = static_cast<float>(rule.lr),
          .decay = static_cast<float>(rule.weight_decay),
          .momentum = static_cast<float>(rule.momentum),
          .scale = static_cast<float>(rule.gradient_scale),
          .delta_decay = static_cast<float>(rule.delta_decay),
          .correction = static_cast<float>(rule.correction)};
}

template <Sgd Kind>
PIPETRAIN_INLINE Vector sgd_vector(const SgdStep& step, const Vector& w, const Vector& gradient,
                                   Vector& velocity) {
  const Vector g = gradient * step.scale + step.decay * w;
  if constexpr (Kind == Sgd::Plain) return w - step.lr * g;
  velocity = step.momentum * velocity + g;
  if constexpr (Kind == Sgd::Momentum) return w - step.lr * velocity;
  return w - step.lr * (g + step.momentum * velocity);
}

PIPETRAIN_INLINE void add_squares(const Vector& v, Doubles& low, Doubles& high) {
  const Doubles a = widen(low_half(v)), b = widen(high_half(v));
  low += a * a;
  high += b * b;
}

PIPETRAIN_INLINE double sum_lanes(const Doubles& v) {
  double lanes[8], sum = 0;
  write(lanes, v);
  for (const double lane : lanes) sum += lane;
  return sum;
}
