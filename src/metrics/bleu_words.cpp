#include "metrics/bleu_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace pipetrain {

namespace {

// White space beyond ASCII, in UTF-8.
constexpr std::array<std::string_view, 19> wide_spaces = {
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

bool is_narrow_space(char c) { return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }
// ASCII's signs except ' , - . and, as in the original, the blank.
bool stands_alone(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// The length in bytes of the white space character with which the text begins; 0: there is none.
std::size_t space_at_front(std::string_view text) {
  if (is_narrow_space(text.front())) return 1;
  const auto wide =
      std::ranges::find_if(wide_spaces, [&](auto space) { return text.starts_with(space); });
  return wide == wide_spaces.end() ? 0 : wide->size();
}
std::size_t space_at_back(std::string_view text) {
  if (is_narrow_space(text.back())) return 1;
  const auto wide =
      std::ranges::find_if(wide_spaces, [&](auto space) { return text.ends_with(space); });
  return wide == wide_spaces.end() ? 0 : wide->size();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string plain_text(std::string_view sentence) {
  while (!sentence.empty()) {
    const std::size_t space = space_at_back(sentence);
    if (space == 0) break;
    sentence.remove_suffix(space);
  }
  std::string text(sentence);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  return " " + text + " ";
}

std::string part_signs(const std::string& text) {
  std::string parted;
  for (const char c : text)
    if (stands_alone(c))
      parted += {' ', c, ' '};
    else
      parted += c;
  return parted;
}

// Replaces pairs of neighbouring bytes for which matches(a, b) by write(a, b), from left to right;
// each byte is in at most one pair.
template <class Matches, class Write>
std::string rewrite_pairs(const std::string& text, Matches matches, Write write) {
  std::string written;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      written += write(text[i], text[i + 1]);
      ++i;
    } else {
      written += text[i];
    }
  }
  return written;
}

std::vector<std::string> split_at_space(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  while (!text.empty()) {
    const std::size_t space = space_at_front(text);
    if (space == 0) word += text.front();
    if (space > 0 && !word.empty()) {
      words.push_back(word);
      word.clear();
    }
    text.remove_prefix(std::max<std::size_t>(space, 1));
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

}  // namespace

std::vector<std::string> words_13a(std::string_view sentence) {
  std::string text = part_signs(plain_text(sentence));
  const auto parts_both = [](char a, char b) { return std::string{a, ' ', b, ' '}; };
  text = rewrite_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_stop(b); }, parts_both);
  text = rewrite_pairs(
      text, [](char a, char b) { return is_stop(a) && !is_digit(b); },
      [](char a, char b) {
        return std::string{' ', a, ' ', b};
      });
  text = rewrite_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; }, parts_both);
  return split_at_space(text);
}

}  // namespace pipetrain
