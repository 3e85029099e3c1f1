// What the floats of a value are stored as: f32, or bf16, the upper half of an f32. Arithmetic is
// f32 with either; storing rounds to nearest, ties to even, and a NaN stays a NaN. Kernels whose
// loops run over stored values are templates over float and Bf16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pipetrain::cpu {

enum class Element : std::uint8_t { F32, Bf16, Token };  // Token: int32, has no gradient

struct Bf16 {
  std::uint16_t bits;
};

constexpr std::size_t element_bytes(Element element) { return element == Element::Bf16 ? 2 : 4; }

template <class E>
constexpr Element element_of = Element::F32;
template <>
inline constexpr Element element_of<Bf16> = Element::Bf16;

// One at a time, outside inner loops; for many, see element_loops() in vector_loops.hpp.
inline float to_float(float value) { return value; }
inline float to_float(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16);
}
template <class E>
E from_float(float value) {
  if constexpr (element_of<E> == Element::F32) {
    return value;
  } else {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    if (value != value) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
    return {static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
  }
}

// Memory of a value as elements of type E.
template <class E>
const E* elements(const void* memory) {
  return static_cast<const E*>(memory);
}
template <class E>
E* elements(void* memory) {
  return static_cast<E*>(memory);
}

// Calls body.template operator()<E>() with the type that the floats are stored as.
template <class Body>
auto with_element(Element element, const Body& body) {
  return element == Element::Bf16 ? body.template operator()<Bf16>()
                                  : body.template operator()<float>();
}

}  // namespace pipetrain::cpu
