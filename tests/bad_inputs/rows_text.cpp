// Text and files of tokens that are missing, short, of another kind, or inconsistent; and prompts.
#include "data/data_files.hpp"
#include "files.hpp"
#include "row.hpp"

using namespace pipetrain::test;

namespace {

Row text(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "a.txt");
  return {name, {{"a.txt", bytes}}, "train text.toml --dry-run", 3, std::move(words), true};
}
Row tokens(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "a.bin");
  return {name, {{"a.bin", bytes}}, "train tokens.toml --dry-run", 3, std::move(words), true};
}
// llm.c's header.
std::string header(std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> values(256);
  values[0] = 20240520;
  values[1] = version;
  values[2] = count;
  return raw(values);
}
std::string some(std::size_t count) { return raw(std::vector<std::uint16_t>(count, 1)); }

}  // namespace

std::vector<Row> text_rows() {
  const std::string trained = "\"$PIPETRAIN_BINARY\" train text.toml --quiet --output run; ";
  return {
      text("an empty text", "", {"empty"}),
      text("a text shorter than a context", "abc", {"3 tokens are too few for a window of 4"}),
      text("invalid UTF-8", "ab\ncd\xc3(ab", {"a.txt:2", "invalid UTF-8: byte 5 is 0xc3", "bytes"}),
      text("a text cut short inside a character", "abcdabcd\xe2\x82", {"byte 8 is 0xe2"}),
      text("a gzipped text cut short", less(gzipped("abcdabcdab"), 9), {"gzip data ends early"}),
      {"a text of more characters than the model's vocabulary",
       {{"a.txt", "abcdeabcde"}},
       "train text.toml --dry-run",
       2,
       {"a.txt", "5 different tokens", "reads 4 and predicts 4", "vocabulary = 5"}},
      {"a text that is not there",
       {{"bad.toml", "[data]\ntrain_text = \"none.txt\"\n"}},
       "train text.toml bad.toml",
       3,
       {"none.txt", "no such file"}},
      {"validation text with a character that trained none",
       {{"bad.toml", "[data]\nvalidation_text = \"v.txt\"\n"}, {"v.txt", "ab\ncd"}},
       "train text.toml bad.toml --dry-run",
       3,
       {"v.txt:1", "U+000A", "not one of the 4"}},
      {"a held-out tail shorter than a context",
       {{"bad.toml", "[data]\nvalidation_fraction = 0.1\n"}},
       "train text.toml bad.toml --dry-run",
       3,
       {"1 token is too few"}},
      {"a stride that leaves one window",
       {},
       "train text.toml --set data.stride=100 --dry-run",
       2,
       {"data.batch_size = 2 is more than the 1 training sample,", "write batch_size = 1, or"}},
      {"text for a model of digits",
       {{"bad.toml", "[data]\nkind = \"text\"\ntrain_text = \"a.txt\"\n"}},
       "train base.toml bad.toml --dry-run",
       2,
       {"a.txt", "sequence of tokens", "[1, 28, 28]"}},
      {"digits for a model of text",
       {{"bad.toml", "[data]\nkind = \"glyphs\"\n"}},
       "train text.toml bad.toml --dry-run",
       2,
       {"bad.toml:2:8", "[1, 28, 28]", "[3] tokens of 4"}},
      {"a vocabulary that is none",
       {{"bad.toml", "[data]\nvocabulary = \"fc.toml\"\n"}},
       "train text.toml bad.toml --dry-run",
       3,
       {"fc.toml", "not a JSON object"}},
      tokens("an empty file of tokens", "", {"empty"}),
      tokens("a file of tokens cut inside one", some(5) + "x", {"11 bytes", "truncated"}),
      tokens("a token outside the vocabulary",
             some(5) + raw(std::vector<std::uint16_t>{4, 1, 1, 1}), {"token 5 is 4", "0..3"}),
      tokens("fewer tokens than a context", some(3), {"3 tokens are too few"}),
      tokens("a token header that claims more than there is", header(1, 2000000000) + some(8),
             {"says 2000000000 tokens", "16 bytes follow it"}),
      tokens("a token header that claims less", header(1, 4) + some(8), {"says 4 tokens"}),
      tokens("a token header of -1 tokens", header(1, -1) + some(8), {"header is damaged"}),
      tokens("a token header cut short", less(header(1, 8), 1), {"1023 bytes are fewer"}),
      tokens("a token header of 32-bit tokens", header(7, 4) + some(8), {"version 1", "has 7"}),
      {"a prompt with a character that the model does not know",
       {},
       "generate text.toml --output run --prompt 'abx'",
       2,
       {"--prompt:1", "'x' (U+0078)", "not one of the 4"},
       false,
       trained},
      {"an empty prompt",
       {},
       "generate text.toml --output run --prompt ''",
       2,
       {"--prompt is empty"},
       false,
       trained},
      {"no prompt for a model whose tokens are numbers",
       {},
       "generate tokens.toml --output run",
       2,
       {"--prompt is missing: this model's tokens are numbers", "--prompt \"12 7 300\""},
       false,
       "\"$PIPETRAIN_BINARY\" train tokens.toml --quiet --output run; "},
      {"generate without weights",
       {},
       "generate text.toml --output none",
       3,
       {"no trained weights", "--model"}},
      {"generate from a model of digits",
       {},
       "generate base.toml",
       2,
       {"pipetrain generate", "neither a language model", "[1, 28, 28]"}},
  };
}
