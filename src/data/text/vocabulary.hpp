// Text as tokens and back: by Unicode characters or by bytes. A run keeps its vocabulary next to
// its weights (vocabulary.json), because the weights mean nothing without it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

using Token = std::uint16_t;
inline constexpr std::int64_t tokens_max = 65536;  // distinct ones, in any data set

class Vocabulary {
 public:
  // Every byte is a token: 0..255.
  static Vocabulary of_bytes() { return Vocabulary({}); }
  // The characters of a text, sorted: token i is the i-th. DataError if the text is not UTF-8, is
  // empty, or has more than tokens_max distinct characters; `source` begins the message.
  static Vocabulary of_characters(std::string_view text, const std::string& source);
  // vocabulary.json. DataError.
  static Vocabulary read(const std::filesystem::path& file);

  bool is_bytes() const { return characters_.empty(); }
  std::int64_t size() const {
    return is_bytes() ? 256 : static_cast<std::int64_t>(characters_.size());
  }

  // DataError names the line of `source`, and the byte that is not UTF-8, or the character that is
  // not a token.
  std::vector<Token> tokens(std::string_view text, const std::string& source) const;
  // The text of one token, 0..size() - 1. With bytes it may be only part of a character.
  std::string text(Token token) const;

  std::string json() const;  // as read() reads it
  bool operator==(const Vocabulary&) const = default;

 private:
  explicit Vocabulary(std::vector<char32_t> characters);

  std::vector<char32_t> characters_;  // by token; empty: bytes
  struct Entry {
    char32_t code;
    Token token;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> by_code_;  // sorted
};

}  // namespace pipetrain
