// A model that learns a language in which each word is the next letter of the alphabet, and
// `generate`, validation and `eval` of it from outside.
#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string model = R"([model]
name = "cipher"
input = { source = 8, target = 8, vocabulary = 21 }
[[model.layers]]
name = "read"
kind = "embedding"
embedding_dim = 32
inputs = ["source"]
[[model.layers]]
name = "read_at"
kind = "sinusoidal_positions"
[[model.layers]]
name = "keys"
kind = "linear"
out_features = 64
[[model.layers]]
name = "write"
kind = "embedding"
embedding_dim = 32
inputs = ["target"]
[[model.layers]]
name = "write_at"
kind = "sinusoidal_positions"
[[model.layers]]
name = "own_qkv"
kind = "linear"
out_features = 96
[[model.layers]]
name = "own"
kind = "attention"
heads = 2
causal = true
[[model.layers]]
name = "own_sum"
kind = "add"
inputs = ["own", "write_at"]
[[model.layers]]
name = "query"
kind = "linear"
out_features = 32
[[model.layers]]
name = "cross"
kind = "attention"
heads = 2
padding = 0
inputs = ["query", "keys", "source"]
[[model.layers]]
name = "cross_sum"
kind = "add"
inputs = ["cross", "own_sum"]
[[model.layers]]
name = "norm"
kind = "layer_norm"
[[model.layers]]
name = "fc"
kind = "linear"
out_features = 64
[[model.layers]]
name = "relu"
kind = "relu"
[[model.layers]]
name = "head"
kind = "linear"
out_features = 21
)";

const std::string training = R"([data]
kind = "parallel_text"
train_source = "t.src"
train_target = "t.tgt"
validation_source = "v.src"
validation_target = "v.tgt"
piece_kind = "bpe"
batch_size = 64
bucket_multiple = 4
[pipeline]
stages = 2
microbatches = 2
[optimizer]
kind = "adam"
lr = 0.01
[training]
steps = 300
[lr_schedule]
kind = "cosine"
[validation]
every_steps = 150
metric = "bleu"
[checkpoint]
every_steps = 150
)";

using Words = std::vector<std::string>;

std::string line_of(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line + "\n";
}

Words translated(Words words) {
  for (std::string& word : words) word[0] = word[0] == 'h' ? 'a' : static_cast<char>(word[0] + 1);
  return words;
}

std::vector<Words> drawn(int lines, int shortest, std::uint64_t seed) {
  pipetrain::Random random(seed, 1);
  std::vector<Words> all;
  for (int i = 0; i < lines; ++i) {
    Words& words = all.emplace_back();
    const auto count = static_cast<std::uint64_t>(shortest) + random.below(8 - shortest);
    for (std::uint64_t w = 0; w < count; ++w)
      words.push_back(std::string(1, static_cast<char>('a' + random.below(8))));
  }
  return all;
}

struct Cipher {
  TestFolder folder;
  fs::path run = folder.path / "run";
  std::string config, here = "cd " + folder.path.string() + ";";

  Cipher() {
    write("t", drawn(3000, 1, 1));
    write("v", drawn(40, 4, 2));
    config = folder.write("cipher.toml", model + training).string();
  }
  void write(const std::string& name, const std::vector<Words>& lines) const {
    std::string source, target;
    for (const Words& words : lines) {
      source += line_of(words);
      target += line_of(translated(words));
    }
    folder.write(name + ".src", source);
    folder.write(name + ".tgt", target);
  }
  Ran train(const std::string& options = "") const {
    return run_binary("train --quiet " + config + " --output run " + options, here);
  }
  Ran generate(const std::string& input, const std::string& options = "") const {
    folder.write("in", input);
    return run_binary("generate --quiet " + config + " --output run " + options + " < in", here);
  }
};

// Trained once for all cases; none of them changes it.
const Cipher& trained() {
  static const Cipher cipher;
  static const Ran ran = cipher.train();
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return cipher;
}

std::vector<json> validations(const fs::path& run) {
  std::vector<json> events;
  for (const json& event : events_of(run))
    if (event["event"] == "validation") events.push_back(event);
  return events;
}

}  // namespace

TEST_CASE("a model learns to translate, and its validation says so by BLEU") {
  const Cipher& cipher = trained();
  const std::vector<json> told = validations(cipher.run);
  REQUIRE(told.size() == 2);
  CHECK(told[1]["bleu"].get<double>() == Approx(100));
  const json end = events_of(cipher.run).back();
  CHECK(end["validation"]["bleu"] == told[1]["bleu"]);
  CHECK(end["best_validation"]["bleu"] == std::max(told[0]["bleu"], told[1]["bleu"]));
  const Ran eval = run_binary("eval --json " + cipher.config + " --output run", cipher.here);
  INFO(eval.err);
  REQUIRE(eval.code == 0);
  CHECK(json::parse(eval.out)["bleu"] == told[1]["bleu"]);
  CHECK(has(run_binary("eval " + cipher.config + " --output run", cipher.here).out, "BLEU "));
  const Ran by_loss = run_binary(
      "eval --json " + cipher.config + " --output run --set validation.metric='\"loss\"'",
      cipher.here);
  CHECK_FALSE(json::parse(by_loss.out).contains("bleu"));
}

TEST_CASE("BLEU of a part of the pairs is that of their lines, wherever the range begins") {
  const Cipher& cipher = trained();
  const auto eval = [&](const std::string& options) {
    const Ran ran =
        run_binary("eval --json " + cipher.config + " --output run " + options, cipher.here);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out)["bleu"].get<double>();
  };
  // Half of the references are wrong: it matters which lines are compared.
  const std::vector<Words> lines = drawn(40, 4, 2);
  std::string target;
  for (std::size_t l = 0; l < lines.size(); ++l)
    target += l < 20 ? line_of(translated(lines[l])) : line_of(lines[l]);
  cipher.folder.write("half.tgt", target);
  const std::string half = "--set 'data.validation_target=\"half.tgt\"' ";
  CHECK(eval(half + "--set 'data.validation_range=[0, 20]'") > 90);
  CHECK(eval(half + "--set 'data.validation_range=[20, 40]'") < 20);
  const double all = eval(half);
  CHECK(all > 10);
  CHECK(all < 90);
}

TEST_CASE("generate writes a line for each line, in order and nothing else") {
  const Cipher& cipher = trained();
  std::string input, expected;
  for (const Words& words : drawn(30, 1, 3)) {
    input += line_of(words);
    expected += line_of(translated(words));
  }
  const Ran ran = cipher.generate(input);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.err.empty());
  CHECK(ran.out == expected);
  CHECK(cipher.generate(input, "--batch 7").out == ran.out);
  CHECK(cipher.generate(input, "--batch 1").out == ran.out);
  CHECK(cipher.generate(input, "--beam 3 --length-penalty 1").out == expected);
  CHECK(cipher.generate(input, "--model run/checkpoints/step-00000300").out == ran.out);
}

TEST_CASE("generate takes lines as they come: empty, ending in CR LF, unended, none at all") {
  const Cipher& cipher = trained();
  const std::string plain = cipher.generate("a b c\nd e\n").out;
  CHECK(plain == "b c d\ne f\n");
  CHECK(cipher.generate("a b c\r\nd e").out == plain);
  CHECK(cipher.generate("\na b c\n \t\n\nd e\n\n").out == "\nb c d\n\n\ne f\n\n");
  const Ran nothing = cipher.generate("");
  CHECK(nothing.code == 0);
  CHECK(nothing.out.empty());
}

TEST_CASE("a line that is too long is cut, and reported") {
  const Cipher& cipher = trained();
  const std::string seven = "a b c d e f g";
  const Ran one = cipher.generate("a b\n" + seven + " h h\n");
  CHECK(one.code == 0);
  CHECK(one.out == cipher.generate("a b\n" + seven + "\n").out);
  CHECK(has(one.err, "standard input:2: the line has 9 pieces, but the model reads at most 7"));
  CHECK_FALSE(has(one.err, "lines were cut"));
  const Ran two = cipher.generate(seven + " h\na\n" + seven + " h\n");
  CHECK(has(two.err, "standard input:1: the line has 8"));
  CHECK_FALSE(has(two.err, "standard input:3:"));
  CHECK(has(two.err, "2 lines were cut to 7 pieces"));
}

TEST_CASE("generate gives one document of translations and their scores") {
  const Cipher& cipher = trained();
  const Ran ran = cipher.generate("a b c\n\nd e\n", "--json --beam 2");
  REQUIRE(ran.code == 0);
  const json result = json::parse(ran.out);
  CHECK(result["beam"] == 2);
  CHECK(result["length_penalty"] == 0.6);
  REQUIRE(result["translations"].size() == 3);
  CHECK(result["translations"][0]["source"] == "a b c");
  CHECK(result["translations"][0]["translation"] == "b c d");
  CHECK(result["translations"][0]["score"] < 0);
  CHECK(result["translations"][1]["score"].is_null());
  CHECK(result["translations"][2]["translation"] == "e f");
}

TEST_CASE("generate translates with what the run has kept, without any text") {
  const Cipher cipher;
  REQUIRE(cipher.train("--set training.steps=5").code == 0);
  const std::string before = cipher.generate("a b c\n").out;
  for (const char* const text : {"t.src", "t.tgt", "v.src", "v.tgt"})
    fs::remove(cipher.folder.path / text);
  const Ran ran = cipher.generate("a b c\n");
  CHECK(ran.code == 0);
  CHECK(ran.out == before);
}

TEST_CASE("eval needs no training text where there are texts to validate on") {
  const Cipher cipher;
  REQUIRE(cipher.train("--set training.steps=2 --set validation.every_steps=0").code == 0);
  const Ran whole = run_binary("eval run", cipher.here);
  REQUIRE(whole.code == 0);
  fs::remove(cipher.folder.path / "t.src");
  fs::remove(cipher.folder.path / "t.tgt");
  const Ran alone = run_binary("eval run", cipher.here);
  INFO(alone.err);
  CHECK(alone.out == whole.out);
}

TEST_CASE(
    "the best checkpoint is chosen by BLEU, across restarts too, and early stopping goes by BLEU") {
  const Cipher cipher;
  // So small a rate lowers the loss and changes no translation.
  const std::string still =
      "--set optimizer.lr=1e-6 --set validation.every_steps=2 --set checkpoint.every_steps=2 ";
  REQUIRE(cipher.train(still + "--set training.steps=4").code == 0);
  REQUIRE(cipher.train(still + "--set training.steps=6").code == 0);
  const std::vector<json> told = validations(cipher.run);
  REQUIRE(told.size() == 3);
  CHECK(told[1]["loss"] < told[0]["loss"]);
  CHECK(told[2]["loss"] < told[1]["loss"]);
  CHECK(told[1]["bleu"] == told[0]["bleu"]);
  CHECK(events_of(cipher.run).back()["best_validation"]["step"] == 2);
  CHECK(bytes_of(cipher.run / "checkpoints/best") == "step-00000002\n");
  const Ran info =
      run_binary("checkpoint info --json " + (cipher.run / "checkpoints/step-00000006").string());
  CHECK(has(info.out, "\"bleu\""));

  REQUIRE(cipher.train(still + "--resume never --set validation.early_stopping=2").code == 0);
  const json end = events_of(cipher.run).back();
  CHECK(end["stopped_by"] == "early_stopping");
  CHECK(end["step"] == 6);
}
