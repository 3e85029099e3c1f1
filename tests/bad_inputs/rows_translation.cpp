// Parallel texts that do not fit each other, their pieces or the model.
#include "files.hpp"
#include "row.hpp"

namespace {

Row pairs(const std::string& name, const std::string& file, const std::string& bytes,
          std::vector<std::string> words) {
  return {name, {{file, bytes}}, "train pairs.toml --dry-run", 3, std::move(words), true};
}
Row setting(const std::string& name, const std::string& table, int code,
            std::vector<std::string> words) {
  return {
      name, {{"bad.toml", table}}, "train pairs.toml bad.toml --dry-run", code, std::move(words)};
}

}  // namespace

std::vector<Row> translation_rows() {
  const std::string learn = "\"$PIPETRAIN_BINARY\" train pairs.toml --quiet --output run; ";
  return {
      pairs("sides of different length", "a.en", "a dog\ntwo dogs\na cat\n",
            {"a.de has 4 lines", "a.en has 3", "line n"}),
      pairs("a longer translation", "a.en", "a dog\ntwo dogs\na cat\na man\na dog\n",
            {"a.de has 4 lines", "a.en has 5"}),
      pairs("a source that is no UTF-8", "a.de", "ein\nzwei\xff\n\nein Mann\n",
            {"a.de:2", "UTF-8"}),
      {"sides without a word",
       {{"bad.toml", "[data]\ntrain_target = \"blank.en\"\npieces = \"run/pieces.model\"\n"},
        {"blank.en", "\n \n\n\t\n"}},
       "train pairs.toml bad.toml --dry-run",
       3,
       {"a.de: no pair is left", "of 4 read, 4 are empty"},
       false,
       learn},
      setting("a source that is not there", "[data]\ntrain_source = \"none.de\"\n", 3,
              {"none.de", "no such file"}),
      setting("pieces that are not there", "[data]\npieces = \"none.model\"\n", 3,
              {"none.model", "no such file"}),
      setting("pieces that are none", "[data]\npieces = \"a.de\"\n", 3,
              {"a.de", "not a SentencePiece model"}),
      {"pieces that do not fit the vocabulary",
       {{"bad.toml",
         "[model]\ninput = { source = 16, target = 16, vocabulary = 23 }\n[data]\npieces = "
         "\"run/pieces.model\"\n"}},
       "train pairs.toml bad.toml --dry-run",
       2,
       {"bad.toml:4:10", "has 22 pieces", "reads tokens of 23 and predicts 22", "vocabulary = 22"},
       false,
       learn},
      setting("more pieces than the text gives",
              "[model]\ninput = { source = 16, target = 16, vocabulary = 5000 }\n", 2,
              {"5000 pieces are more than this text has", "at most"}),
      setting("a limit that is less than one sentence", "[data]\nbatch_tokens = 20\n", 2,
              {"a.de:", "more than the 20 of a mini-batch", "write at least"}),
      setting("a model that reads one token",
              "[model]\ninput = { source = 1, target = 16, vocabulary = 22 }\n"
              "[data]\nbucket_multiple = 1\n",
              2, {"a piece and for its end", "1 and 16 tokens", "2 or more"}),
      setting("lengths that no bucket ends at", "[data]\nbucket_multiple = 5\n", 2,
              {"data.bucket_multiple = 5", "16 and 16 tokens"}),
      setting("a range of pairs that are not there", "[data]\ntrain_range = [1, 5]\n", 2,
              {"data.train_range = [1, 5]", "3 in all"}),
      {"pairs for a model of one side",
       {{"bad.toml",
         "[data]\nkind = \"parallel_text\"\ntrain_source = \"a.de\"\ntrain_target = "
         "\"a.en\"\n"}},
       "train text.toml bad.toml --dry-run",
       2,
       {"bad.toml:2:8", "two sides", "[3] tokens of 4", "source = S"}},
  };
}
