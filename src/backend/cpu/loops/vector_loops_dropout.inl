// Philox4x32-10 (base/rng.hpp) for 16 blocks at once. Included by vector_loops.inl.

using Wides = LanesOf<std::uint64_t, kRegisterBytes / 8>::Type;  // one register

// Products of the lower 32 bits of each number.
PIPETRAIN_INLINE Wides products(const Wides& numbers, const Wides& factor) {
#if defined(__AVX512F__)  // GCC 12 reports the plain intrinsic as uninitialised.
  return (Wides)_mm512_maskz_mul_epu32(0xFF, (__m512i)numbers, (__m512i)factor);
#elif defined(__AVX2__)
  return (Wides)_mm256_mul_epu32((__m256i)numbers, (__m256i)factor);
#elif defined(__SSE2__)
  return (Wides)_mm_mul_epu32((__m128i)numbers, (__m128i)factor);
#else
  return (numbers & 0xFFFFFFFFu) * factor;
#endif
}

// Multiplies each of 16 numbers by `by`: the upper and the lower 32 bits of the products.
template <class Numbers>
PIPETRAIN_INLINE void multiply_wide(const Numbers& v, std::uint32_t by, Numbers& high,
                                    Numbers& low) {
  if constexpr (is_two<Numbers>) {
    multiply_wide(v.low, by, high.low, low.low);
    multiply_wide(v.high, by, high.high, low.high);
  } else {
    const Wides factor = Wides{} + by, lower = Wides{} + 0xFFFFFFFFu;
    const Wides even = products((Wides)v, factor), odd = products((Wides)v >> 32, factor);
    high = (Numbers)(even >> 32 | (odd & ~lower));
    low = (Numbers)((even & lower) | odd << 32);
  }
}

// For blocks first .. first + blocks - 1: kept[4 b + j] = 1 if number j of block b is not below
// dropped_below, which must be less than 2^32.
void keep_elements(const DropoutMask::Parts& mask, std::int64_t first, std::int64_t blocks,
                   std::uint8_t* kept) {
  constexpr std::uint32_t index[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto lanes = read<Unsigned>(index);
  const auto low_of = [](std::uint64_t v) { return Unsigned{} + static_cast<std::uint32_t>(v); };
  const auto flags = [below = low_of(mask.dropped_below)](const Unsigned& numbers, int shift)
      __attribute__((always_inline)) {
    return bits_as<Unsigned>(numbers >= below) & (1u << shift);
  };
  for (std::int64_t done = 0; done < blocks; done += kLanes) {
    const auto counter = static_cast<std::uint64_t>(first + done);
    Unsigned c0 = low_of(counter) + lanes;
    Unsigned c1 = low_of(counter >> 32) - bits_as<Unsigned>(c0 < lanes);  // each lane's carry
    Unsigned c2 = low_of(mask.stream), c3 = low_of(mask.stream >> 32);
    auto k0 = static_cast<std::uint32_t>(mask.key), k1 = static_cast<std::uint32_t>(mask.key >> 32);
    for (int round = 0; round < 10; ++round) {
      Unsigned high0, low0, high1, low1;
      multiply_wide(c0, 0xD2511F53u, high0, low0);
      multiply_wide(c2, 0xCD9E8D57u, high1, low1);
      c0 = high1 ^ c1 ^ k0;
      c1 = low1;
      c2 = high0 ^ c3 ^ k1;
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const Unsigned bits = flags(c0, 0) | flags(c1, 8) | flags(c2, 16) | flags(c3, 24);
    const std::int64_t left = blocks - done < kLanes ? blocks - done : kLanes;
    std::uint32_t four_flags[kLanes];
    write(four_flags, bits);
    std::memcpy(kept + 4 * done, four_flags, static_cast<std::size_t>(4 * left));
  }
}
