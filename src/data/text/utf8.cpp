#include "data/text/utf8.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdint>

namespace pipetrain {

namespace {

struct Form {  // by the first byte: the character's length, that byte's own bits, the least code of
               // that length
  std::size_t bytes = 0;
  std::uint32_t bits = 0, least = 0;
};

Form form_of(std::uint8_t first) {
  if (first < 0x80) return {1, first, 0};
  if (first >= 0xc0 && first < 0xe0) return {2, first & 0x1fu, 0x80};
  if (first >= 0xe0 && first < 0xf0) return {3, first & 0x0fu, 0x800};
  if (first >= 0xf0 && first < 0xf8) return {4, first & 0x07u, 0x10000};
  return {};
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const Form form = form_of(static_cast<std::uint8_t>(text[0]));
  if (form.bytes == 0 || form.bytes > text.size()) return {};
  std::uint32_t code = form.bits;
  for (std::size_t i = 1; i < form.bytes; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < form.least || code > 0x10ffff || surrogate) return {};
  return {code, form.bytes};
}

std::size_t valid_utf8_bytes(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = first_character(text.substr(at)).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return text.size();
}

std::string utf8(char32_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto follows = [&](int shift) { return byte(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), follows(0)};
  if (code < 0x10000) return {byte(0xe0 | code >> 12), follows(6), follows(0)};
  return {byte(0xf0 | code >> 18), follows(12), follows(6), follows(0)};
}

std::string character_text(char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  const bool control = number < 0x20 || (number >= 0x7f && number < 0xa0);
  if (control) return fmt::format("U+{:04X}", number);
  return fmt::format("'{}' (U+{:04X})", utf8(code), number);
}

}  // namespace pipetrain
