// CRC-32C against the vectors of RFC 3720, appendix B.4.
#include "metrics/crc32c.hpp"

#include <string>

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("the sums of the RFC", "[crc32c]") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  falling.assign(rising.rbegin(), rising.rend());
  CHECK(crc32c(rising) == 0x46dd794e);
  CHECK(crc32c(falling) == 0x113fdb5c);
}

TEST_CASE("a stored sum is rotated by 15 bits and offset by a constant", "[crc32c]") {
  CHECK(masked_crc32c("") == 0xa282ead8);
  // 0xe3069283 rotated right by 15 bits is 0x2507c60d.
  CHECK(masked_crc32c("123456789") == 0x2507c60d + 0xa282ead8);
}
