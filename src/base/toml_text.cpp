#include "base/toml_text.hpp"

#include <algorithm>

namespace pipetrain {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }
bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

bool is_bare(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z') || byte == '_' || byte == '-' || byte == '+';
}

// Behind a bare word a quote opens nothing: the parser refuses 5'6', but looks at what follows.
bool opens_quotes(std::string_view toml, std::size_t at) {
  return (toml[at] == '"' || toml[at] == '\'') && (at == 0 || !is_bare(toml[at - 1]));
}

// Where the quoted text that begins at `at` ends: behind its closing quotes, or before the end of
// the line where a short one is not closed (which the parser refuses).
std::size_t after_quotes(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const bool several_lines = toml.substr(at).starts_with(std::string(3, quote));
  const std::string closing(several_lines ? 3 : 1, quote);
  for (at += closing.size(); at < toml.size(); ++at) {
    if (toml.substr(at).starts_with(closing)) {
      at += closing.size();
      // One or two quotes right before the closing three belong to the text.
      for (int more = 0; several_lines && more < 2 && at < toml.size() && toml[at] == quote; ++more)
        ++at;
      return at;
    }
    if (toml[at] == '\n' && !several_lines) return at;
    if (toml[at] == '\\' && quote == '"' && at + 1 < toml.size() && toml[at + 1] != '\n') ++at;
  }
  return toml.size();
}

StrayCharacter character_at(std::string_view toml, std::size_t at) {
  StrayCharacter found;
  const std::string_view before = toml.substr(0, at);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  found.line += static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  found.column += static_cast<int>(std::count_if(
      before.begin() + static_cast<std::ptrdiff_t>(line_begin), before.end(), begins_character));
  std::size_t end = at + 1;
  while (end < toml.size() && !begins_character(toml[end])) ++end;
  found.text = toml.substr(at, end - at);
  return found;
}

}  // namespace

std::string StrayCharacter::message() const {
  return "the character '" + text +
         "' stands outside quotes, where TOML has letters without accents, "
         "digits and signs only";
}

std::optional<StrayCharacter> stray_character(std::string_view toml) {
  std::size_t at = toml.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < toml.size()) {
    if (toml[at] == '#')
      at = std::min(toml.find('\n', at), toml.size());
    else if (opens_quotes(toml, at))
      at = after_quotes(toml, at);
    else if (is_ascii(toml[at]))
      ++at;
    else
      return character_at(toml, at);
  }
  return std::nullopt;
}

}  // namespace pipetrain
