// CRC-32C (Castagnoli's polynomial, as in RFC 3720, appendix B.4), and the form in which
// TensorFlow's record files store it.
#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrain {

std::uint32_t crc32c(std::string_view bytes);
// Rotated and offset by a constant, so that the sum of bytes that contain sums is nothing special.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace pipetrain
