// Optimizers (formulas: update.cpp) and the norm of a gradient. Included by vector_loops.inl.

PIPETRAIN_INLINE void keep_up_delta(const SgdStep& step, const UpdateArguments& a, std::int64_t i,
                                    std::int64_t lanes, const Vector& motion, const Vector& next) {
  const Vector delta =
      step.delta_decay * load_lanes(a.delta + i, lanes) + (1 - step.delta_decay) * motion;
  store_lanes(a.delta + i, delta, lanes);
  if (a.corrected) store_lanes(a.corrected + i, next - step.correction * delta, lanes);
}

template <Sgd Kind>
PIPETRAIN_INLINE void sgd_lanes(const SgdStep& step, const UpdateArguments& a, std::int64_t i,
                                std::int64_t lanes) {
  Vector velocity{};
  if constexpr (Kind != Sgd::Plain) velocity = load_lanes(a.first_moment + i, lanes);
  const Vector w = load_lanes(a.weights + i, lanes), g = load_lanes(a.gradient + i, lanes);
  const Vector next = sgd_vector<Kind>(step, w, g, velocity);
  store_lanes(a.new_weights + i, next, lanes);
  if constexpr (Kind != Sgd::Plain) store_lanes(a.first_moment + i, velocity, lanes);
  if (a.delta) keep_up_delta(step, a, i, lanes, next - w, next);
}

template <Sgd Kind>
void sgd(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin, std::int64_t end) {
  const SgdStep step = sgd_step(rule);
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) sgd_lanes<Kind>(step, a, i, kLanes);
  if (i < end) sgd_lanes<Kind>(step, a, i, end - i);
}

template <bool Delta, bool Corrected>
void adam(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin, std::int64_t end) {
  const auto step = static_cast<double>(rule.step);
  const double unbias1 = 1 - __builtin_pow(rule.beta1, step),
               unbias2 = 1 - __builtin_pow(rule.beta2, step);
  const bool decoupled = rule.kind == UpdateRule::Kind::AdamW;
  const auto rate = static_cast<float>(rule.lr / unbias1), eps = static_cast<float>(rule.eps),
             root = static_cast<float>(1 / __builtin_sqrt(unbias2)),
             beta1 = static_cast<float>(rule.beta1), beta2 = static_cast<float>(rule.beta2),
             rest1 = static_cast<float>(1 - rule.beta1), rest2 = static_cast<float>(1 - rule.beta2),
             scale = static_cast<float>(rule.gradient_scale),
             in_gradient = static_cast<float>(decoupled ? 0 : rule.weight_decay),
             keep = static_cast<float>(decoupled ? 1 - rule.lr * rule.weight_decay : 1),
             delta_decay = static_cast<float>(rule.delta_decay),
             correction = static_cast<float>(rule.correction);
  const float *w = a.weights, *gradient = a.gradient;
  float *next = a.new_weights, *first = a.first_moment, *second = a.second_moment, *delta = a.delta,
        *corrected = a.corrected;
  PIPETRAIN_VECTORIZE
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * scale + in_gradient * w[i];
    const float m = beta1 * first[i] + rest1 * g, v = beta2 * second[i] + rest2 * g * g;
    first[i] = m;
    second[i] = v;
    const float old = w[i], made = old * keep - rate * m / (__builtin_sqrtf(v) * root + eps);
    next[i] = made;
    if constexpr (Delta) {
      const float d = delta_decay * delta[i] + (1 - delta_decay) * (made - old);
      delta[i] = d;
      if constexpr (Corrected) corrected[i] = made - correction * d;
    }
  }
}

void update(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin,
            std::int64_t end) {
  if (rule.kind != UpdateRule::Kind::Sgd) {
    if (a.corrected) return adam<true, true>(rule, a, begin, end);
    if (a.delta) return adam<true, false>(rule, a, begin, end);
    return adam<false, false>(rule, a, begin, end);
  }
  switch (kind_of(rule)) {
    case Sgd::Plain:
      return sgd<Sgd::Plain>(rule, a, begin, end);
    case Sgd::Momentum:
      return sgd<Sgd::Momentum>(rule, a, begin, end);
    case Sgd::Nesterov:
      return sgd<Sgd::Nesterov>(rule, a, begin, end);
  }
}

void combine(const Combination& c, std::int64_t begin, std::int64_t end) {
  const auto a = static_cast<float>(c.a), b = static_cast<float>(c.b);
  const float *x = c.x, *y = c.y;
  float* result = c.result;
  PIPETRAIN_VECTORIZE
  for (std::int64_t i = begin; i < end; ++i) result[i] = a * x[i] + b * y[i];
}

void add_up(const Summation& s, std::int64_t begin, std::int64_t end) {
  float* const sum = s.parts[0];
  for (std::size_t p = 1; p < s.parts.size(); ++p) {
    const float* const part = s.parts[p];
    PIPETRAIN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) sum[i] += part[i];
  }
  for (std::size_t p = 1; p < s.parts.size(); ++p)
    std::memcpy(s.parts[p] + begin, sum + begin,
                static_cast<std::size_t>(end - begin) * sizeof(float));
}

double sum_of_squares(const float* values, std::int64_t count) {
  Doubles sums[4] = {};
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    for (int part = 0; part < 4; ++part) {
      const Doubles wide = widen(read<HalfVector>(values + i + 8 * part));
      sums[part] += wide * wide;
    }
  double sum = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}
