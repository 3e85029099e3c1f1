// Philox4x32-10 (base/rng.hpp) of 16 blocks side by side. Included by vector_loops.inl.

// Products of 16 numbers with one: their upper and their lower 32 bits.
PIPETRAIN_INLINE void multiply_wide(const Unsigned& v, std::uint32_t by, Unsigned& high,
                                    Unsigned& low) {
#if defined(__AVX512F__)
  using Wides = std::uint64_t __attribute__((vector_size(64)));
  constexpr Wides lower = Wides{} + 0xFFFFFFFFu;
  // GCC 12 finds the plain intrinsics uninitialised.
  const auto product = [factor = (__m512i)(Wides{} + by)](const Wides& numbers)
      __attribute__((always_inline)) {
        return (Wides)_mm512_maskz_mul_epu32(0xFF, (__m512i)numbers, factor);
      };
  const Wides even = product((Wides)v), odd = product((Wides)v >> 32);
  high = (Unsigned)(even >> 32 | (odd & ~lower));
  low = (Unsigned)((even & lower) | odd << 32);
#else
  for (int l = 0; l < kLanes; ++l) {
    const std::uint64_t product = std::uint64_t{by} * v[l];
    high[l] = static_cast<std::uint32_t>(product >> 32);
    low[l] = static_cast<std::uint32_t>(product);
  }
#endif
}

// kept[4 b + j] of blocks [first, first + blocks): is number j of block b not below what is dropped?
// dropped_below is less than 2^32.
void keep_elements(const DropoutMask::Parts& mask, std::int64_t first, std::int64_t blocks,
                   std::uint8_t* kept) {
  constexpr Unsigned lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto low_of = [](std::uint64_t v) { return Unsigned{} + static_cast<std::uint32_t>(v); };
  const auto flags = [below = low_of(mask.dropped_below)](const Unsigned& numbers, int shift)
      __attribute__((always_inline)) { return (Unsigned)(numbers >= below) & (1u << shift); };
  for (std::int64_t done = 0; done < blocks; done += kLanes) {
    const auto counter = static_cast<std::uint64_t>(first + done);
    Unsigned c0 = low_of(counter) + lanes;
    Unsigned c1 = low_of(counter >> 32) - (Unsigned)(c0 < lanes);  // of each lane's own counter
    Unsigned c2 = low_of(mask.stream), c3 = low_of(mask.stream >> 32);
    auto k0 = static_cast<std::uint32_t>(mask.key),
         k1 = static_cast<std::uint32_t>(mask.key >> 32);
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
    std::memcpy(kept + 4 * done, &bits, static_cast<std::size_t>(4 * left));
  }
}
