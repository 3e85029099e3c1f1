// Optimizers (formulas: update.cpp) and the norm of a gradient. Included by vector_loops.inl.

void sgd(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin, std::int64_t end) {
  const SgdStep step = sgd_step(rule);
  const bool remembers = rule.momentum != 0;
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    Vector velocity = remembers ? load(a.first_moment + i) : Vector{};
    store(a.new_weights + i, sgd_vector(step, load(a.weights + i), load(a.gradient + i),
                                        remembers ? &velocity : nullptr));
    if (remembers) store(a.first_moment + i, velocity);
  }
  const std::int64_t rest = end - i;
  if (rest == 0) return;
  Vector velocity = remembers ? load_some(a.first_moment + i, rest) : Vector{};
  const Vector next = sgd_vector(step, load_some(a.weights + i, rest),
                                 load_some(a.gradient + i, rest), remembers ? &velocity : nullptr);
  store_some(a.new_weights + i, next, rest);
  if (remembers) store_some(a.first_moment + i, velocity, rest);
}

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
             keep = static_cast<float>(decoupled ? 1 - rule.lr * rule.weight_decay : 1);
  const float *w = a.weights, *gradient = a.gradient;
  float *next = a.new_weights, *first = a.first_moment, *second = a.second_moment;
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * scale + in_gradient * w[i];
    const float m = beta1 * first[i] + rest1 * g, v = beta2 * second[i] + rest2 * g * g;
    first[i] = m;
    second[i] = v;
    next[i] = w[i] * keep - rate * m / (__builtin_sqrtf(v) * root + eps);
  }
}

void update(const UpdateRule& rule, const UpdateArguments& a, std::int64_t begin,
            std::int64_t end) {
  if (rule.kind == UpdateRule::Kind::Sgd)
    sgd(rule, a, begin, end);
  else
    adam(rule, a, begin, end);
}

double sum_of_squares(const float* values, std::int64_t count) {
  Doubles sums[4] = {};
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    for (int part = 0; part < 4; ++part) {
      HalfVector half;
      std::memcpy(&half, values + i + 8 * part, sizeof half);
      const Doubles wide = __builtin_convertvector(half, Doubles);
      sums[part] += wide * wide;
    }
  const Doubles total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += total[lane];
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}
