// Vocabularies: characters sorted, bytes as they are, files of both, and what is refused.
#include "data/text/vocabulary.hpp"

#include "catch.hpp"
#include "data/text/utf8.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

std::string text_of(const Vocabulary& vocabulary, const std::vector<Token>& tokens) {
  std::string text;
  for (const Token token : tokens) text += vocabulary.text(token);
  return text;
}

}  // namespace

TEST_CASE("characters: sorted by their code, each once", "[vocabulary]") {
  const Vocabulary v = Vocabulary::of_characters("banana\né€😀", "a.txt");
  CHECK(v.size() == 7);
  CHECK(v.tokens("\nabné€😀", "a.txt") == std::vector<Token>{0, 1, 2, 3, 4, 5, 6});
  CHECK(text_of(v, {2, 1, 3, 6, 5, 4, 0}) == "ban😀€é\n");
}

TEST_CASE("bytes: a token is a byte, whatever it is", "[vocabulary]") {
  const Vocabulary v = Vocabulary::of_bytes();
  CHECK(v.size() == 256);
  CHECK(v.tokens("a\xff\n", "x") == std::vector<Token>{97, 255, 10});
  CHECK(text_of(v, {97, 255, 10}) == "a\xff\n");
}

TEST_CASE("a vocabulary reads back equal from its file", "[vocabulary]") {
  const Folder folder;
  for (const Vocabulary& v :
       {Vocabulary::of_characters("to be \"or\" not\\ é\n\x01", "a"), Vocabulary::of_bytes()})
    CHECK(Vocabulary::read(folder.write("v.json", v.json())) == v);
}

TEST_CASE("a character that is not a token is named with its line", "[vocabulary]") {
  const Vocabulary v = Vocabulary::of_characters("ab\n", "a.txt");
  const auto said = message_of<DataError>([&] { v.tokens("ab\nab\nbé", "b.txt"); });
  CHECK(contains(said, "b.txt:3: the character 'é' (U+00E9)"));
  CHECK(contains(said, "not one of the 3"));
  CHECK(contains(message_of<DataError>([&] { v.tokens("\t", "b.txt"); }), "U+0009"));
}

TEST_CASE("invalid UTF-8 is refused with its line and byte", "[vocabulary]") {
  const std::string cases[] = {"\x80",         "\xc0\xaf",         "\xc3",
                               "\xe0\x80\xaf", "\xed\xa0\x80",     "\xff",
                               "\xe2\x82",     "\xf4\x90\x80\x80", "\xf8\x88\x80\x80",
                               "\xc3("};
  for (const std::string& bytes : cases) {
    CAPTURE(bytes);
    const auto said =
        message_of<DataError>([&] { Vocabulary::of_characters("é\nab" + bytes, "a.txt"); });
    CHECK(contains(said, "a.txt:2: invalid UTF-8: byte 5 is 0x"));
    CHECK(contains(said, "tokenizer = \"bytes\""));
  }
  CHECK(contains(message_of<DataError>([] { Vocabulary::of_characters("", "a.txt"); }), "empty"));
}

TEST_CASE("every code point comes back from its UTF-8", "[vocabulary]") {
  int wrong = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const std::string text = utf8(code);
    const Utf8Character read = first_character(text);
    wrong += read.code != code || read.bytes != text.size();
  }
  CHECK(wrong == 0);
}

TEST_CASE("a file that is not a vocabulary is refused by name", "[vocabulary]") {
  const Folder folder;
  const std::pair<std::string, std::string> cases[] = {
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{}", "names no \"tokenizer\""},
      {"{\"tokenizer\": \"words\"}", "nor the \"tokens\""},
      {"{\"tokenizer\": \"characters\", \"tokens\": []}", "nor the \"tokens\""},
      {"{\"tokenizer\": \"characters\", \"tokens\": [1]}", "not a string"},
      {"{\"tokenizer\": \"characters\", \"tokens\": [\"ab\"]}", "\"ab\" is not one character"},
      {"{\"tokenizer\": \"characters\", \"tokens\": [\"\"]}", "not one character"},
      {"{\"tokenizer\": \"characters\", \"tokens\": [\"a\", \"b\", \"a\"]}", "'a' (U+0061)"},
  };
  for (const auto& [text, words] : cases) {
    const auto file = folder.write("v.json", text);
    const auto said = message_of<DataError>([&] { Vocabulary::read(file); });
    CHECK(contains(said, "v.json"));
    CHECK(contains(said, words));
  }
}
