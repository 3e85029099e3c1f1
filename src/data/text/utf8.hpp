// UTF-8 (RFC 3629): shortest forms only, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipetrain {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // its length; 0: the text does not begin with valid UTF-8
};
// The first character of a text, which must not be empty.
Utf8Character first_character(std::string_view text);

// How many bytes a text has before the first one that is not valid UTF-8: all, if it is valid.
std::size_t valid_utf8_bytes(std::string_view text);

std::string utf8(char32_t code);
// For messages: the character in quotes, if it is printable, and its number: "'é' (U+00E9)".
std::string character_text(char32_t code);

}  // namespace pipetrain
