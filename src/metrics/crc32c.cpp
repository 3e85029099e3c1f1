#include "metrics/crc32c.hpp"

#include <array>

namespace pipetrain {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // 0x1edc6f41 with the lowest bit first
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest & 1 ? rest >> 1 ^ polynomial : rest >> 1;
    table[byte] = rest;
  }
  return table;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = make_table();
  std::uint32_t rest = ~std::uint32_t{0};
  for (const char c : bytes) rest = table[(rest ^ static_cast<unsigned char>(c)) & 255] ^ rest >> 8;
  return ~rest;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return (sum >> 15 | sum << 17) + 0xa282ead8;
}

}  // namespace pipetrain
