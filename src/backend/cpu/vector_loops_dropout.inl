// Philox4x32-10 (base/rng.hpp) of 16 blocks side by side. Included by vector_loops.inl.

// kept[4 b + j] of blocks [first, first + blocks): is number j of block b not below what is dropped?
// dropped_below is less than 2^32.
void keep_elements(const DropoutMask::Parts& mask, std::int64_t first, std::int64_t blocks,
                   std::uint8_t* kept) {
  const auto below = static_cast<std::uint32_t>(mask.dropped_below);
  for (std::int64_t done = 0; done < blocks; done += kLanes) {
    std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes], bits[kLanes];
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const auto counter = static_cast<std::uint64_t>(first + done + l);
      c0[l] = static_cast<std::uint32_t>(counter);
      c1[l] = static_cast<std::uint32_t>(counter >> 32);
      c2[l] = static_cast<std::uint32_t>(mask.stream);
      c3[l] = static_cast<std::uint32_t>(mask.stream >> 32);
    }
    auto k0 = static_cast<std::uint32_t>(mask.key),
         k1 = static_cast<std::uint32_t>(mask.key >> 32);
    for (int round = 0; round < 10; ++round) {
      PIPETRAIN_VECTORIZE
      for (std::int64_t l = 0; l < kLanes; ++l) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[l];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[l];
        c0[l] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
        c1[l] = static_cast<std::uint32_t>(p1);
        c2[l] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
        c3[l] = static_cast<std::uint32_t>(p0);
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    PIPETRAIN_VECTORIZE
    for (std::int64_t l = 0; l < kLanes; ++l)
      bits[l] = std::uint32_t{c0[l] >= below} | std::uint32_t{c1[l] >= below} << 8 |
                std::uint32_t{c2[l] >= below} << 16 | std::uint32_t{c3[l] >= below} << 24;
    const std::int64_t left = blocks - done < kLanes ? blocks - done : kLanes;
    std::memcpy(kept + 4 * done, bits, static_cast<std::size_t>(4 * left));
  }
}
