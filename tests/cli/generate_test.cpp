// `pipetrain generate` from outside: a model that has learnt a text reproduces it, with any kind of
// vocabulary, and the vocabulary stays with the weights. Evaluation of text is here too.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Each character of "abcd" is always followed by the same one: a table of pairs learns that in a
// few steps.
std::string config_of(const TestFolder& folder, const std::string& data, int vocabulary) {
  return folder
      .write("text.toml", R"([model]
name = "pairs"
input = { tokens = 4, vocabulary = )" +
                              std::to_string(vocabulary) + R"( }
[[model.layers]]
name = "wte"
kind = "embedding"
embedding_dim = 8
[[model.layers]]
name = "head"
kind = "linear"
out_features = )" + std::to_string(vocabulary) +
                              R"(
[data]
batch_size = 4
stride = 1
)" + data + R"(
[pipeline]
stages = 2
microbatches = 2
[optimizer]
kind = "adam"
lr = 0.1
[training]
steps = 60
[validation]
every_steps = 60
[hardware]
backend = "reference"
)")
      .string();
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

const std::string characters =
    "kind = \"text\"\ntrain_text = \"a.txt\"\nvalidation_fraction = 0.2\n";

struct Trained {
  TestFolder folder;
  std::string config, here = "cd " + folder.path.string() + ";";
  explicit Trained(const std::string& data = characters, int vocabulary = 6) {
    folder.write("a.txt", repeated("abcé", 20) + "\n" + repeated("abcé", 5));
    config = config_of(folder, data, vocabulary);
    const Ran ran = run_binary("train --quiet " + config + " --output run", here);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
  }
  Ran generate(const std::string& options) const {
    return run_binary("generate --quiet " + config + " --output run " + options, here);
  }
};

}  // namespace

TEST_CASE("generate continues with a text that the model has learnt") {
  const Trained trained;
  const Ran ran = trained.generate("--prompt bc --tokens 6 --temperature 0");
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.out == "bcéabcéa\n");
  trained.folder.write("prompt.txt", "abc");
  CHECK(trained.generate("--prompt - --tokens 3 --temperature 0 < prompt.txt").out == "abcéab\n");
  CHECK(trained.generate("--prompt a --tokens 0").out == "a\n");
  CHECK(trained.generate("--tokens 2 --temperature 0").out == "\nab\n");
}

TEST_CASE("generate draws the same text with the same seed, and another one for another sample") {
  const Trained trained;
  const std::string options = "--prompt a --tokens 40 --temperature 5 --samples 2 ";
  const Ran first = trained.generate(options), again = trained.generate(options);
  CHECK(first.code == 0);
  CHECK(first.out == again.out);
  CHECK(first.out != trained.generate(options + "--seed 2").out);
  const std::size_t cut = first.out.find("---------------\n");
  REQUIRE(cut != std::string::npos);
  CHECK(first.out.substr(0, cut) != first.out.substr(cut + 16));
  CHECK(trained.generate(options + "--top-k 1").out != first.out);

  const json result = json::parse(trained.generate(options + "--json").out);
  REQUIRE(result["samples"].size() == 2);
  CHECK(result["prompt"] == json::array({1}));
  CHECK(result["samples"][0]["tokens"].size() == 40);
  CHECK("a" + result["samples"][0]["text"].get<std::string>() + "\n" == first.out.substr(0, cut));
}

TEST_CASE("the run keeps the vocabulary: generate and eval need no training text") {
  const Trained trained;
  const json vocabulary = json::parse(bytes_of(trained.folder.path / "run/vocabulary.json"));
  CHECK(vocabulary["tokens"] == json::array({"\n", "a", "b", "c", "é"}));
  fs::remove(trained.folder.path / "a.txt");
  CHECK(trained.generate("--prompt a --tokens 3 --temperature 0").out == "abcé\n");
  CHECK(trained.generate("--prompt a --tokens 3 --temperature 0 --model run/checkpoints").code ==
        0);
  trained.folder.write("v.txt", repeated("abcé", 3));
  const Ran eval = run_binary("eval --json " + trained.config +
                                  " --output run --set data.validation_fraction=0"
                                  " --set 'data.validation_text=\"" +
                                  (trained.folder.path / "v.txt").string() + "\"'",
                              trained.here);
  INFO(eval.err);
  REQUIRE(eval.code == 0);
  const json result = json::parse(eval.out);
  CHECK(result["samples"] == 2);
  CHECK(result["accuracy"] == 1.0);
}

TEST_CASE("evaluation of text has perplexity, the exponential of the loss, and token accuracy") {
  const Trained trained;
  const auto events = events_of(trained.folder.path / "run");
  const json& validated = *std::find_if(events.begin(), events.end(), [](const json& event) {
    return event["event"] == "validation";
  });
  const double loss = validated["loss"].get<double>();
  CHECK(validated["perplexity"].get<double>() == Approx(std::exp(loss)));
  CHECK(validated["accuracy"].get<double>() > 0.9);
  CHECK(events[1]["tokens_per_second"].get<double>() ==
        Approx(4 * events[1]["samples_per_second"].get<double>()));
  const Ran text = run_binary("eval " + trained.config + " --output run", trained.here);
  CHECK(has(text.out, ", perplexity "));
  const json by_eval =
      json::parse(run_binary("eval --json " + trained.config + " --output run", trained.here).out);
  CHECK(by_eval["perplexity"].get<double>() ==
        Approx(validated["perplexity"].get<double>()).epsilon(1e-6));
}

TEST_CASE("generate by bytes, and by numbers if the text of the tokens is unknown") {
  const Trained bytes(
      "kind = \"text\"\ntokenizer = \"bytes\"\ntrain_text = \"a.txt\"\n"
      "validation_fraction = 0.2\n",
      256);
  CHECK(bytes.generate("--prompt ab --tokens 4 --temperature 0").out == "abcéa\n");

  TestFolder folder;
  std::string words;
  for (int i = 0; i < 60; ++i) words += std::string{static_cast<char>(i % 3), '\0'};
  folder.write("a.bin", words);
  const std::string config = config_of(
                        folder,
                        "kind = \"tokens\"\ntrain_tokens = \"a.bin\"\nvalidation_fraction = 0.2\n",
                        3),
                    here = "cd " + folder.path.string() + ";";
  REQUIRE(run_binary("train --quiet " + config + " --output run", here).code == 0);
  const std::string generate = "generate --quiet " + config + " --output run --temperature 0 ";
  CHECK(run_binary(generate + "--prompt '1 2' --tokens 4", here).out == "1 2 0 1 2 0 \n");
  const Ran wrong = run_binary(generate + "--prompt '1 3'", here);
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "\"3\" is not a token"));
  CHECK(run_binary(generate, here).code == 2);  // a new line is not a number
  folder.write("v.json", R"({"tokenizer": "characters", "tokens": ["x", "y", "z"]})");
  const std::string named =
      "--set 'data.vocabulary=\"" + (folder.path / "v.json").string() + "\"' ";
  CHECK(run_binary(generate + named + "--prompt xy --tokens 4", here).out == "xyzxyz\n");
}

TEST_CASE("generate refuses a model that reads backwards") {
  TestFolder folder;
  const std::string keys = GENERATE("reverse = true", "bidirectional = true");
  const std::string config = folder
                                 .write("both.toml", R"([model]
input = { tokens = 4, vocabulary = 3 }
layers = [{ name = "wte", kind = "embedding", embedding_dim = 6 },
          { name = "back", kind = "lstm", hidden_size = 2, )" +
                                                         keys + R"( },
          { name = "head", kind = "linear", out_features = 3 }]
[data]
kind = "synthetic"
)")
                                 .string();
  const Ran ran = run_binary("generate " + config);
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "the layer 'back'"));
}

TEST_CASE("generate refuses a model that sees what comes next") {
  TestFolder folder;
  const std::string config = folder
                                 .write("both.toml", R"([model]
input = { tokens = 4, vocabulary = 3 }
layers = [{ name = "wte", kind = "embedding", embedding_dim = 6 },
          { name = "qkv", kind = "linear", out_features = 18 },
          { name = "attn", kind = "attention", heads = 2, causal = false },
          { name = "head", kind = "linear", out_features = 3 }]
[data]
kind = "synthetic"
)")
                                 .string();
  const Ran ran = run_binary("generate " + config);
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "the layer 'attn'"));
}
