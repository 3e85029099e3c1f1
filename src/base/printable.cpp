#include "base/printable.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdint>

namespace pipetrain {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The character that `text` begins with.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC0 || byte(0) > 0xF7 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const std::uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least || code > 0x10FFFF || surrogate ? Character{} : Character{code, bytes};
}

bool controls(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||  // C0, delete, C1
         (code >= 0x2028 && code <= 0x202E) ||            // line separators, directions
         (code >= 0x2066 && code <= 0x2069);              // isolated directions
}

std::string escape(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  return fmt::format("\\u{:04x}", code);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    if (bytes == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (controls(code))
      out += escape(code);
    else
      out += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace pipetrain
