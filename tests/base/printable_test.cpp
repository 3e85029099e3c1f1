// What a file can put into a message: nothing that a terminal obeys.
#include "base/printable.hpp"

#include "catch.hpp"

using pipetrain::printable;

TEST_CASE("letters of any language stay as they are") {
  CHECK(printable("") == "");
  CHECK(printable("fc1.weight [3, 2] '\\x'") == "fc1.weight [3, 2] '\\x'");
  CHECK(printable("Größe 模型 \xF0\x9F\x98\x80") == "Größe 模型 \xF0\x9F\x98\x80");
}

TEST_CASE("control characters are escaped") {
  CHECK(printable("a\x1b[31mb\r\n\tc\x7f") == "a\\u001b[31mb\\u000d\\n\\tc\\u007f");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\u0000b");
  CHECK(printable("\xC2\x9B\x33\x31m \xC2\xA0") == "\\u009b31m \xC2\xA0");  // CSI; a hard space
  CHECK(printable("\xE2\x80\xA8 \xE2\x80\xAE \xE2\x81\xA6") == "\\u2028 \\u202e \\u2066");
  CHECK(printable(printable("\x1b\xff")) == printable("\x1b\xff"));
}

TEST_CASE("bytes that are not UTF-8 are escaped one by one") {
  CHECK(printable("a\xff\x62") == "a\\xffb");
  CHECK(printable("\xC3") == "\\xc3");                    // cut short
  CHECK(printable("\xC3(") == "\\xc3(");                  // not continued
  CHECK(printable("\xC0\x9B") == "\\xc0\\x9b");           // an overlong form of ESC
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // half of a surrogate pair
  CHECK(printable("\xF7\xBF\xBF\xBF") == "\\xf7\\xbf\\xbf\\xbf");
}
