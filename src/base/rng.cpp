#include "base/rng.hpp"

#include <cmath>
#include <numbers>

namespace pipetrain {

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter,
                                    std::uint64_t stream) {
  std::array<std::uint32_t, 4> c = {
      static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

std::uint32_t Random::next() {
  if (left_ == 0) {
    block_ = philox(key_, counter_++, stream_);
    left_ = 4;
  }
  return block_[4 - left_--];
}

double Random::uniform() {
  const std::uint64_t high = next() >> 5, low = next() >> 6;
  return static_cast<double>(high * 67108864u + low) * 0x1p-53;
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t Random::below(std::uint64_t count) {
  const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % count;
  std::uint64_t x;
  do x = (std::uint64_t{next()} << 32) | next();
  while (x >= limit);
  return x % count;
}

}  // namespace pipetrain
