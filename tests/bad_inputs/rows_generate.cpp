// Sentences that cannot be translated, models that do not translate, and options that are for the
// other kind of model.
#include "files.hpp"
#include "row.hpp"

namespace {

// Reads sentences of up to 15 pieces, and the piece that ends them. `last`: its last layers.
std::string sides(const std::string& last) {
  return R"([model]
name = "sides"
input = { source = 16, target = 16, vocabulary = 20 }
[[model.layers]]
name = "read"
kind = "embedding"
embedding_dim = 2
inputs = ["source"]
[[model.layers]]
name = "keys"
kind = "linear"
out_features = 4
[[model.layers]]
name = "write"
kind = "embedding"
embedding_dim = 2
inputs = ["target"]
[[model.layers]]
name = "cross"
kind = "attention"
heads = 1
padding = 0
inputs = ["write", "keys", "source"]
)" + last +
         R"([hardware]
backend = "reference"
[data]
kind = "parallel_text"
train_source = "b.de"
train_target = "b.en"
batch_size = 2
[training]
steps = 2
)";
}

const std::string output_layer =
    "[[model.layers]]\nname = \"head\"\nkind = \"linear\"\nout_features = 20\n";
const std::string looks_ahead =
    "[[model.layers]]\nname = \"qkv\"\nkind = \"linear\"\nout_features = 6\n"
    "[[model.layers]]\nname = \"own\"\nkind = \"attention\"\nheads = 1\n";

// After a training, with standard input from the file `in`.
Row behind(const std::string& name, const std::string& input, const std::string& options, int code,
           std::vector<std::string> words, const std::string& prepare = "") {
  return {name,
          {{"sides.toml", sides(output_layer)},
           {"b.de", "ein Hund\nzwei Hunde\nein Mann\n"},
           {"b.en", "a dog\ntwo dogs\na man\n"},
           {"in", input}},
          "generate sides.toml --output run " + options + " < in",
          code,
          std::move(words),
          false,
          "\"$PIPETRAIN_BINARY\" train sides.toml --quiet --output run; " + prepare};
}

}  // namespace

std::vector<Row> generate_rows() {
  return {
      behind("a sentence that is no UTF-8", "ein Hund\nein \xc3(\n", "", 3,
             {"standard input:2", "invalid UTF-8: byte 4 of the line is 0xc3"}),
      behind("a sentence of more than a mebibyte", "ein\n" + repeated("Hund ", 220000), "", 3,
             {"standard input:2", "longer than 1048576 bytes"}),
      behind("pieces that are gone", "ein Hund\n", "", 3,
             {"no pieces.model next to the weights", "data.pieces"}, "rm run/pieces.model; "),
      behind("kept pieces that are none", "ein Hund\n", "", 3,
             {"run/pieces.model", "not a SentencePiece model"}, "echo x > run/pieces.model; "),
      behind("pieces of another model", "ein Hund\n", "", 2,
             {"run/pieces.model has 20 pieces", "reads tokens of 21"},
             "sed -i 's/ = 20/ = 21/' sides.toml; "),
      behind("a prompt for a model that translates", "ein Hund\n", "--prompt ein", 2,
             {"pipetrain generate: --prompt", "translates", "leave it out"}),
      behind("tokens to draw for a model that translates", "ein Hund\n", "--tokens 5", 2,
             {"--tokens", "translates"}),
      behind("a beam of none", "ein Hund\n", "--beam 0", 2, {"--beam"}),
      behind("a length penalty of nan", "ein Hund\n", "--length-penalty nan", 2,
             {"--length-penalty: 'nan'", "write a number from 0 to 10"}),
      behind("a length penalty that rewards", "ein Hund\n", "--length-penalty -1", 2,
             {"--length-penalty"}),
      {"a temperature of nan",
       {},
       "generate text.toml --output none --temperature nan",
       2,
       {"--temperature: 'nan'", "write a number from 0 to 1000"}},
      {"a temperature that no double holds",
       {},
       "generate text.toml --output none --temperature 1e-999",
       2,
       {"--temperature: '1e-999'", "write a number from 0 to 1000"}},
      {"a seed below 0",
       {},
       "generate text.toml --output none --seed -1",
       2,
       {"--seed: '-1'", "write a whole number from 0 to 18446744073709551615"}},
      {"a seed of 2^64",
       {},
       "generate text.toml --output none --seed 18446744073709551616",
       2,
       {"--seed: '18446744073709551616'", "write a whole number from 0 to 18446744073709551615"}},
      {"a translation without weights",
       {{"sides.toml", sides(output_layer)}},
       "generate sides.toml --output none",
       3,
       {"no trained weights", "--model"}},
      {"a translation by a model that looks ahead",
       {{"sides.toml", sides(looks_ahead + output_layer)}},
       "generate sides.toml --output none",
       2,
       {"'own' reads later tokens", "causal = true"}},
      {"a text of a model of images",
       {},
       "generate base.toml --output none",
       2,
       {"'small' is neither a language model nor a translation model", "shape [1, 28, 28]"}},
      {"a beam for a model of text",
       {},
       "generate text.toml --output none --beam 4",
       2,
       {"pipetrain generate: --beam", "one side"}},
      {"BLEU of what is no translation",
       {{"bad.toml", "[validation]\nmetric = \"bleu\"\n"}},
       "train base.toml bad.toml --dry-run",
       2,
       {"bad.toml:2:10", "validation.metric = \"bleu\"", "\"glyphs\"", "metric = \"loss\""}},
      {"BLEU of a model that looks ahead",
       {{"sides.toml", sides(looks_ahead + output_layer)},
        {"b.de", "ein Hund\nzwei Hunde\nein Mann\n"},
        {"b.en", "a dog\ntwo dogs\na man\n"},
        {"bad.toml",
         "[data]\nvalidation_source = \"b.de\"\nvalidation_target = \"b.en\"\n"
         "[validation]\nmetric = \"bleu\"\nevery_steps = 1\n"}},
       "train sides.toml bad.toml --dry-run",
       2,
       {"'own'"}},
  };
}
