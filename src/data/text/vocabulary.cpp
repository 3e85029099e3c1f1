#include "data/text/vocabulary.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "data/byte_file.hpp"
#include "data/text/utf8.hpp"

namespace pipetrain {

namespace {

// "input.txt:12" for the byte at `offset`.
std::string line_of(std::string_view text, std::size_t offset, const std::string& source) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(offset);
  return fmt::format("{}:{}", source, 1 + std::count(text.begin(), end, '\n'));
}

// Calls take(code, offset) for every character.
template <class Take>
void each_character(std::string_view text, const std::string& source, Take take) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.substr(at));
    if (character.bytes == 0)
      throw DataError(fmt::format(
          "{}: invalid UTF-8: byte {} is 0x{:02x}; save the text as UTF-8, or write tokenizer = "
          "\"bytes\"",
          line_of(text, at, source), at, static_cast<std::uint8_t>(text[at])));
    take(character.code, at);
    at += character.bytes;
  }
}

[[noreturn]] void refuse(const std::filesystem::path& file, std::string_view why) {
  throw DataError(fmt::format("{}: {}; name the vocabulary.json of a run", file.string(), why));
}

char32_t single_character(const nlohmann::json& token, const std::filesystem::path& file) {
  if (!token.is_string()) refuse(file, "a token is not a string");
  const auto& text = token.get_ref<const std::string&>();
  const Utf8Character character = text.empty() ? Utf8Character{} : first_character(text);
  if (character.bytes != text.size() || text.empty())
    refuse(file, fmt::format("the token \"{}\" is not one character", text));
  return character.code;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<char32_t> characters) : characters_(std::move(characters)) {
  for (std::size_t i = 0; i < characters_.size(); ++i)
    by_code_.push_back({characters_[i], static_cast<Token>(i)});
  std::ranges::sort(by_code_, {}, &Entry::code);
}

Vocabulary Vocabulary::of_characters(std::string_view text, const std::string& source) {
  std::set<char32_t> seen;
  char32_t last = 0x110000;
  each_character(text, source, [&](char32_t code, std::size_t) {
    if (code != last) seen.insert(code);
    last = code;
  });
  if (seen.empty()) throw DataError(fmt::format("{}: the text is empty", source));
  if (std::ssize(seen) > tokens_max)
    throw DataError(fmt::format(
        "{}: {} different characters are more than the limit of {}; write tokenizer = \"bytes\"",
        source, seen.size(), tokens_max));
  return Vocabulary({seen.begin(), seen.end()});
}

Vocabulary Vocabulary::read(const std::filesystem::path& file) {
  const std::vector<std::uint8_t> bytes = ByteFile(file).read_all();
  const auto json = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!json.is_object()) refuse(file, "this is not a JSON object");
  const auto kind = json.find("tokenizer");
  if (kind == json.end() || !kind->is_string()) refuse(file, "it names no \"tokenizer\"");
  if (*kind == "bytes") return of_bytes();
  const auto tokens = json.find("tokens");
  if (*kind != "characters" || tokens == json.end() || !tokens->is_array() || tokens->empty())
    refuse(file,
           "it has neither the tokenizer \"bytes\" nor the \"tokens\" of the tokenizer "
           "\"characters\"");
  if (std::ssize(*tokens) > tokens_max)
    refuse(file,
           fmt::format("{} tokens are more than the limit of {}", tokens->size(), tokens_max));
  std::vector<char32_t> characters;
  for (const auto& token : *tokens) characters.push_back(single_character(token, file));
  Vocabulary vocabulary(std::move(characters));
  const auto twice = std::ranges::adjacent_find(vocabulary.by_code_, {}, &Entry::code);
  if (twice != vocabulary.by_code_.end())
    refuse(file, fmt::format("the token {} is listed twice", character_text(twice->code)));
  return vocabulary;
}

std::vector<Token> Vocabulary::tokens(std::string_view text, const std::string& source) const {
  std::vector<Token> tokens;
  tokens.reserve(text.size());
  if (is_bytes()) {
    for (const char byte : text) tokens.push_back(static_cast<std::uint8_t>(byte));
    return tokens;
  }
  each_character(text, source, [&](char32_t code, std::size_t at) {
    const auto entry = std::ranges::lower_bound(by_code_, code, {}, &Entry::code);
    if (entry == by_code_.end() || entry->code != code)
      throw DataError(
          fmt::format("{}: the character {} is not one of the {} in the vocabulary; leave it out, "
                      "or train on a text that has it",
                      line_of(text, at, source), character_text(code), size()));
    tokens.push_back(entry->token);
  });
  return tokens;
}

std::string Vocabulary::text(Token token) const {
  return is_bytes() ? std::string(1, static_cast<char>(token)) : utf8(characters_.at(token));
}

std::string Vocabulary::json() const {
  if (is_bytes()) return "{\"tokenizer\": \"bytes\"}\n";
  auto tokens = nlohmann::ordered_json::array();
  for (const char32_t code : characters_) tokens.push_back(utf8(code));
  const nlohmann::ordered_json json = {{"tokenizer", "characters"}, {"tokens", tokens}};
  return json.dump() + "\n";
}

}  // namespace pipetrain
