#include "base/bytes_text.hpp"

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("bytes in the unit that fits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(1 << 20) == "1.0 MiB");
  CHECK(bytes_text(std::size_t{3} << 30) == "3.0 GiB");
  CHECK(bytes_text(std::size_t{5} << 40) == "5.0 TiB");
  CHECK(bytes_text(std::size_t{5000} << 40) == "5000.0 TiB");
}
