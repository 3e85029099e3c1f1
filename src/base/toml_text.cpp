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

// Where the quoted text that begins at `at` ends: after its closing quotes or, if one of a single
// line is not closed (which the parser refuses), before the end of the line.
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

// Where quotes open a text. They do not after a bare word or a whole value: there the parser
// refuses them, but looks at what follows (5'6', 6x='5').
class Grammar {
 public:
  bool opens_quotes(char byte) const {
    return (byte == '"' || byte == '\'') && (in_key_ ? !is_bare(last_) : !begun_);
  }
  void see_quoted() { see_value('"'); }
  // Any other character outside quotes and comments.
  void see(char byte) {
    if (byte == '\n') return see_line_end();
    if (byte == ' ' || byte == '\t' || byte == '\r')
      last_ = byte;
    else if (in_key_)
      see_key(byte);
    else
      see_value(byte);
  }

 private:
  void see_line_end() {
    in_key_ = open_.empty() || (in_key_ && open_.back() == '{');
    begun_ = false;
    last_ = '\n';
  }
  void see_key(char byte) {
    last_ = byte;
    if (byte == '=')
      in_key_ = begun_ = false;
    else if (byte == '}' && !open_.empty())
      close();
  }
  void see_value(char byte) {
    last_ = byte;
    if (in_key_) return;
    if (byte == ',' && !open_.empty()) {
      in_key_ = open_.back() == '{';
      begun_ = false;
    } else if ((byte == ']' || byte == '}') && !open_.empty()) {
      close();
    } else if (!begun_ && (byte == '[' || byte == '{')) {
      open_.push_back(byte);
      in_key_ = byte == '{';
    } else {
      begun_ = true;
    }
  }
  void close() {
    open_.pop_back();
    in_key_ = false;
    begun_ = true;
  }

  std::string open_;  // the brackets of arrays and tables that are open around the current value
  bool in_key_ = true, begun_ = false;
  char last_ = '\n';
};

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
         "' is outside quotes, where TOML allows only letters without accents, digits and signs";
}

std::optional<StrayCharacter> stray_character(std::string_view toml) {
  std::size_t at = toml.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  Grammar grammar;
  while (at < toml.size()) {
    if (toml[at] == '#') {
      at = std::min(toml.find('\n', at), toml.size());
    } else if (grammar.opens_quotes(toml[at])) {
      at = after_quotes(toml, at);
      grammar.see_quoted();
    } else if (is_ascii(toml[at])) {
      grammar.see(toml[at++]);
    } else {
      return character_at(toml, at);
    }
  }
  return std::nullopt;
}

}  // namespace pipetrain
