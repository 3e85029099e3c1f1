// The elementwise layers: point_of(kind, x) gives a kind's function and its slope at x; a loop uses
// one of the two. Images have channels that only pad a block and must stay zero, so f(0) must be 0.
// Included by vector_loops.inl.

struct Point {
  Vector value, slope;
};

// ---- x Phi(x)

// Phi approximated by a tanh: (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)).
PIPETRAIN_INLINE Point gelu_by_tanh(const Vector& x) {
  constexpr float twice_root = 1.59576912160573071f, cubic = 0.044715f;  // 2 sqrt(2 / pi)
  const Vector square = x * x;
  const Vector phi = 1.0f / (1.0f + exp_of(-twice_root * x * (1.0f + cubic * square)));
  const Vector inner_slope = twice_root * (1.0f + 3 * cubic * square);
  return {x * phi, phi + x * phi * (1.0f - phi) * inner_slope};
}

// Phi by an erf, which is accurate to 1.5e-7: Abramowitz and Stegun 1964, formula 7.1.26.
PIPETRAIN_INLINE Point gelu_exact(const Vector& x) {
  const Vector z = select(x < 0.0f, -x, x) * 0.707106781186547524f;
  const Vector t = 1.0f / (1.0f + 0.3275911f * z), bell = exp_of(-z * z);
  Vector p = t * 1.061405429f - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const Vector tail = 0.5f * p * t * bell;  // Phi(-|x|)
  const Vector phi = select(x < 0.0f, tail, 1.0f - tail);
  return {x * phi, phi + x * bell * 0.398942280401432678f};
}

PIPETRAIN_INLINE Point point_of(const Gelu& gelu, const Vector& x) {
  return gelu.tanh ? gelu_by_tanh(x) : gelu_exact(x);
}

// ---- over a range

template <class E, class Kind>
void apply_function(const Kind& of, const E* x, E* y, std::int64_t count) {
  const Kind kind = of;  // a copy that no store to y can change
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        lanes.put(y + i, point_of(kind, lanes.get(x + i)).value);
      });
}

template <class E, class Kind>
void apply_slope(const Kind& of, const E* x, const E* dy, E* dx, std::int64_t count) {
  const Kind kind = of;
  by_vectors(
      count, [&](std::int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector v = lanes.get(x + i), g = lanes.get(dy + i);
        lanes.put(dx + i, g * point_of(kind, v).slope);
      });
}

template <class E, class... Kinds>
constexpr FunctionLoops<E, std::variant<Kinds...>> functions_of(const std::variant<Kinds...>*) {
  return {{apply_function<E, Kinds>, apply_slope<E, Kinds>}...};
}
