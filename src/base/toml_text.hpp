// What is checked in a text before the TOML library gets it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pipetrain {

struct StrayCharacter {
  int line = 1, column = 1;  // from 1, in characters
  std::string text;          // the character, UTF-8

  std::string message() const;
};

// The first character beyond ASCII outside quotes and comments, where TOML allows none. toml++ 3.3
// assumes that it sees none there (is_non_ascii_horizontal_whitespace), so it must not get one.
std::optional<StrayCharacter> stray_character(std::string_view toml);

}  // namespace pipetrain
