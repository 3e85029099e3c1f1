// Vectors of 16 lanes (8 for doubles), in the form in which an instruction set's registers hold
// them: one register, or two halves with half the lanes each, split further as needed. The compiler
// would itself split vectors longer than a register, but then it keeps them in memory. Included by
// vector_loops.inl.

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
constexpr int kSums = 28;  // vectors that a loop may sum in registers, besides those that it reads
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
constexpr int kSums = 6;
#else
constexpr int kRegisterBytes = 16;
constexpr int kSums = 2;
#endif

template <class Half>
struct Two {
  Half low, high;
};

// Types narrower than f32 are split like f32, so that their lanes correspond.
template <class T, int Lanes, bool Fits = Lanes*(sizeof(T) < 4 ? 4 : sizeof(T)) <= kRegisterBytes>
struct LanesOf {
  using Type __attribute__((vector_size(Lanes * sizeof(T)))) = T;
};
template <class T, int Lanes>
struct LanesOf<T, Lanes, false> {
  using Type = Two<typename LanesOf<T, Lanes / 2>::Type>;
};

using Vector = LanesOf<float, 16>::Type;
using Ints = LanesOf<std::int32_t, 16>::Type;
using Unsigned = LanesOf<std::uint32_t, 16>::Type;
using Halves = LanesOf<std::uint16_t, 16>::Type;
using Bytes = LanesOf<std::uint8_t, 16>::Type;
using HalfVector = LanesOf<float, 8>::Type;
using Doubles = LanesOf<double, 8>::Type;

template <class V>
constexpr bool is_two = false;
template <class Half>
constexpr bool is_two<Two<Half>> = true;

template <class V>
struct LaneOf {
  using Type = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
};
template <class Half>
struct LaneOf<Two<Half>> : LaneOf<Half> {};
template <class V>
using Lane = typename LaneOf<V>::Type;

template <class V>
constexpr int lane_count = sizeof(V) / sizeof(Lane<V>);

#define PIPETRAIN_LANEWISE(operation)                                                            \
  template <class Half>                                                                          \
  PIPETRAIN_INLINE auto operator operation(const Two<Half>& a, const Two<Half>& b) {             \
    return Two<decltype(a.low operation b.low)>{a.low operation b.low, a.high operation b.high}; \
  }                                                                                              \
  template <class Half>                                                                          \
  PIPETRAIN_INLINE auto operator operation(const Two<Half>& a, Lane<Half> b) {                   \
    return Two<decltype(a.low operation b)>{a.low operation b, a.high operation b};              \
  }                                                                                              \
  template <class Half>                                                                          \
  PIPETRAIN_INLINE auto operator operation(Lane<Half> a, const Two<Half>& b) {                   \
    return Two<decltype(a operation b.low)>{a operation b.low, a operation b.high};              \
  }
PIPETRAIN_LANEWISE(+)
PIPETRAIN_LANEWISE(-)
PIPETRAIN_LANEWISE(*)
PIPETRAIN_LANEWISE(/)
PIPETRAIN_LANEWISE(&)
PIPETRAIN_LANEWISE(|)
PIPETRAIN_LANEWISE(^)
PIPETRAIN_LANEWISE(<<)
PIPETRAIN_LANEWISE(>>)
PIPETRAIN_LANEWISE(<)
PIPETRAIN_LANEWISE(>)
PIPETRAIN_LANEWISE(>=)
PIPETRAIN_LANEWISE(==)
PIPETRAIN_LANEWISE(!=)
#undef PIPETRAIN_LANEWISE

template <class Half>
PIPETRAIN_INLINE Two<Half> operator-(const Two<Half>& a) {
  return {-a.low, -a.high};
}
template <class Half>
PIPETRAIN_INLINE Two<Half> operator~(const Two<Half>& a) {
  return {~a.low, ~a.high};
}
template <class Half>
PIPETRAIN_INLINE Two<Half>& operator+=(Two<Half>& a, const Two<Half>& b) {
  a.low += b.low;
  a.high += b.high;
  return a;
}

// Lane by lane: a where the mask is set, b elsewhere.
template <class Mask, class V>
PIPETRAIN_INLINE V select(const Mask& mask, const V& a, const V& b) {
  if constexpr (is_two<V>)
    return {select(mask.low, a.low, b.low), select(mask.high, a.high, b.high)};
  else
    return mask ? a : b;
}

// The same bits, as lanes of another type.
template <class To, class From>
PIPETRAIN_INLINE To bits_as(const From& v) {
  if constexpr (is_two<To>)
    return {bits_as<decltype(To::low)>(v.low), bits_as<decltype(To::low)>(v.high)};
  else
    return (To)v;
}

// The lanes of v from number At on.
template <int At, int... I, class V>
PIPETRAIN_INLINE auto lanes_from(const V& v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (At + I)...);
}
template <class V>
PIPETRAIN_INLINE auto low_half(const V& v) {
  if constexpr (is_two<V>)
    return v.low;
  else
    return lanes_from<0>(v, std::make_integer_sequence<int, lane_count<V> / 2>());
}
template <class V>
PIPETRAIN_INLINE auto high_half(const V& v) {
  if constexpr (is_two<V>)
    return v.high;
  else
    return lanes_from<lane_count<V> / 2>(v, std::make_integer_sequence<int, lane_count<V> / 2>());
}

// Converts lane by lane, to the same number of lanes.
template <class To, class From>
PIPETRAIN_INLINE To convert(const From& v) {
  if constexpr (is_two<To>)
    return {convert<decltype(To::low)>(low_half(v)), convert<decltype(To::low)>(high_half(v))};
  else
    return __builtin_convertvector(v, To);
}

template <class V>
PIPETRAIN_INLINE V read(const Lane<V>* from) {
  if constexpr (is_two<V>) {
    using Half = decltype(V::low);
    return {read<Half>(from), read<Half>(from + lane_count<Half>)};
  } else {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
}
template <class V>
PIPETRAIN_INLINE void write(Lane<V>* to, const V& v) {
  if constexpr (is_two<V>) {
    write(to, v.low);
    write(to + lane_count<decltype(V::low)>, v.high);
  } else {
    std::memcpy(to, &v, sizeof v);
  }
}
template <class V>
PIPETRAIN_INLINE V read_some(const Lane<V>* from, std::int64_t lanes) {
  Lane<V> all[lane_count<V>] = {};
  std::memcpy(all, from, static_cast<std::size_t>(lanes) * sizeof all[0]);
  return read<V>(all);
}
template <class V>
PIPETRAIN_INLINE void write_some(Lane<V>* to, const V& v, std::int64_t lanes) {
  Lane<V> all[lane_count<V>];
  write(all, v);
  std::memcpy(to, all, static_cast<std::size_t>(lanes) * sizeof all[0]);
}

template <int N>
struct Number {};

// Calls `body` with the count as a compile-time constant; counts above Most are passed as Most.
template <int Most, class Body>
PIPETRAIN_INLINE void with_number(std::int64_t count, const Body& body) {
  if constexpr (Most > 1)
    if (count < Most) return with_number<Most - 1>(count, body);
  body(Number<Most>{});
}
