// Text and files of tokens as windows: where they are, what is held out, and each way in which a
// file can be wrong.
#include "catch.hpp"
#include "data/text/vocabulary.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

// Reads `context` tokens of a vocabulary, and predicts that many.
Graph sequence_model(std::int64_t context, std::int64_t vocabulary) {
  return model({{context}, vocabulary}, {{context, vocabulary}});
}

using Ints = std::vector<std::int32_t>;

struct Window {
  Ints tokens, labels;
  bool operator==(const Window&) const = default;
};

Window window(const Dataset& data, std::int64_t index) {
  Window w{Ints(static_cast<std::size_t>(data.input_shape().elements())),
           Ints(static_cast<std::size_t>(data.labels()))};
  data.read({.index = index}, {.tokens = w.tokens.data(), .classes = w.labels.data()});
  return w;
}

struct TextFiles {
  Folder folder;
  DataConfig config;
  explicit TextFiles(const std::string& text) {
    config.kind = DataKind::Text;
    config.batch_size = 1;
    config.train_text = folder.write("a.txt", text);
  }
  Datasets open(const Graph& graph) const { return open_datasets(config, graph, 1); }
  template <class E>
  std::string refused(const Graph& graph) const {
    return message_of<E>([&] { open(graph); });
  }
};

std::string words(const std::vector<std::uint16_t>& tokens) { return raw(tokens); }
std::string headed(const std::vector<std::uint16_t>& tokens, std::int32_t version = 1,
                   std::int32_t more = 0) {
  std::vector<std::int32_t> header(256);
  header[0] = 20240520;
  header[1] = version;
  header[2] = static_cast<std::int32_t>(tokens.size()) + more;
  return raw(header) + words(tokens);
}

struct WrittenTokens : TextFiles {
  explicit WrittenTokens(const std::string& bytes) : TextFiles("") {
    config.kind = DataKind::Tokens;
    config.train_text.clear();
    config.train_tokens = {folder.write("a.bin", bytes)};
  }
};

}  // namespace

TEST_CASE("text: windows that do not overlap, each position's label the next token", "[text]") {
  const TextFiles written("abcdefghij");
  const Datasets data = written.open(sequence_model(3, 10));
  REQUIRE(data.train->size() == 3);
  CHECK(data.train->classes() == 10);
  CHECK(data.train->labels() == 3);
  CHECK(data.train->input_shape() == Shape{{3}, 10});
  CHECK(window(*data.train, 0) == Window{{0, 1, 2}, {1, 2, 3}});
  CHECK(window(*data.train, 2) == Window{{6, 7, 8}, {7, 8, 9}});
  CHECK(data.validation == nullptr);
  REQUIRE(data.vocabulary);
  CHECK(data.vocabulary->size() == 10);
}

TEST_CASE("text: stride = 1 makes a window of every offset", "[text]") {
  TextFiles written("abcdefghij");
  written.config.stride = 1;
  const Datasets data = written.open(sequence_model(3, 10));
  REQUIRE(data.train->size() == 7);
  CHECK(window(*data.train, 1) == Window{{1, 2, 3}, {2, 3, 4}});
  CHECK(window(*data.train, 6) == Window{{6, 7, 8}, {7, 8, 9}});
  written.config.stride = 5;
  CHECK(written.open(sequence_model(3, 10)).train->size() == 2);
  CHECK(written.open(sequence_model(9, 10)).train->size() == 1);
}

TEST_CASE("text: validation_fraction holds out the last part, whatever the seed", "[text]") {
  TextFiles written(std::string(45, 'a') + std::string(45, 'b') + "cdefghijkl");
  written.config.stride = 1;
  written.config.validation_fraction = 0.1;
  for (const std::uint64_t seed : {1, 2}) {
    written.config.validation_seed = seed;
    const Datasets data = written.open(sequence_model(4, 12));
    CHECK(data.train->size() == 90 - 4);
    REQUIRE(data.validation->size() == 2);  // of the ten: 0-4 and 4-8
    CHECK(window(*data.validation, 0) == Window{{2, 3, 4, 5}, {3, 4, 5, 6}});
    CHECK(window(*data.validation, 1) == Window{{6, 7, 8, 9}, {7, 8, 9, 10}});
    CHECK(window(*data.train, 85).labels == Ints{1, 1, 1, 1});
  }
}

TEST_CASE("text: a file of its own validates, by the training text's vocabulary", "[text]") {
  TextFiles written("cab");
  written.config.validation_text = written.folder.write("v.txt", gzipped("ccba"));
  const Datasets data = written.open(sequence_model(2, 5));
  REQUIRE(data.validation->size() == 1);
  CHECK(window(*data.validation, 0) == Window{{2, 2}, {2, 1}});
  written.config.validation_text = written.folder.write("v.txt", "ab\nd");
  CHECK(
      contains(written.refused<DataError>(sequence_model(2, 5)), "v.txt:1: the character U+000A"));
}

TEST_CASE("text: bytes need no vocabulary but a model of 256", "[text]") {
  TextFiles written("\xff\xfe\x00z");
  written.config.tokenizer = Tokenizer::Bytes;
  written.config.train_text = written.folder.write("a.txt", std::string("\xff\xfe\0z", 4));
  CHECK(window(*written.open(sequence_model(3, 256)).train, 0) ==
        Window{{255, 254, 0}, {254, 0, 122}});
  const auto said = written.refused<UsageError>(sequence_model(3, 255));
  CHECK(contains(said, "256 different tokens"));
  CHECK(contains(said, "reads 255 and predicts 255"));
}

TEST_CASE("text: a vocabulary of an earlier run takes the text's place", "[text]") {
  TextFiles written("bb");
  written.config.vocabulary =
      written.folder.write("vocabulary.json", Vocabulary::of_characters("xyzab", "").json());
  CHECK(window(*written.open(sequence_model(1, 5)).train, 0) == Window{{1}, {1}});
}

TEST_CASE("text: what does not fit the model is refused", "[text]") {
  const TextFiles written("abcdefghij");
  CHECK(contains(written.refused<DataError>(sequence_model(10, 10)),
                 "a.txt: 10 tokens are too few for a window of 11"));
  CHECK(contains(written.refused<UsageError>(sequence_model(3, 9)), "10 different tokens"));
  CHECK(contains(written.refused<UsageError>(model({{1, 2, 3}}, {{10}})), "input has shape"));
  CHECK(contains(written.refused<UsageError>(model({{3}, 10}, {{10}})), "output has shape [10]"));
  CHECK(contains(written.refused<UsageError>(model({{3}, 10}, {{3, 10}}, Loss::Mse)), "mse"));
  Graph two_sides = sequence_model(4, 10);
  two_sides.target_tokens = 2;
  CHECK(contains(written.refused<UsageError>(two_sides), "source and target"));
  TextFiles split("abcdefghij");
  split.config.validation_fraction = 0.1;
  CHECK(contains(split.refused<DataError>(sequence_model(3, 10)), "1 token is too few"));
}

TEST_CASE("tokens: llm.c's files and nanoGPT's are recognised by their first bytes", "[tokens]") {
  const std::vector<std::uint16_t> tokens = {7, 300, 2, 65535, 0};
  for (const std::string& bytes : {headed(tokens), words(tokens), gzipped(headed(tokens))}) {
    const Datasets data = WrittenTokens(bytes).open(sequence_model(4, 65536));
    REQUIRE(data.train->size() == 1);
    CHECK(window(*data.train, 0) == Window{{7, 300, 2, 65535}, {300, 2, 65535, 0}});
    CHECK(data.vocabulary == nullptr);
  }
}

TEST_CASE("tokens: several files are one set, and no window is in two", "[tokens]") {
  WrittenTokens written(words({1, 2, 3, 4, 5}));
  written.config.train_tokens.push_back(written.folder.write("b.bin", headed({6, 7, 8})));
  written.config.validation_tokens = {written.folder.write("v.bin", words({9, 8, 7}))};
  const Datasets data = written.open(sequence_model(2, 10));
  REQUIRE(data.train->size() == 3);
  CHECK(window(*data.train, 1) == Window{{3, 4}, {4, 5}});
  CHECK(window(*data.train, 2) == Window{{6, 7}, {7, 8}});
  CHECK(window(*data.validation, 0) == Window{{9, 8}, {8, 7}});
}

TEST_CASE("tokens: inconsistent files are refused", "[tokens]") {
  const Graph ten = sequence_model(2, 10);
  const auto refused = [&](const std::string& bytes) {
    return WrittenTokens(bytes).refused<DataError>(ten);
  };
  CHECK(contains(refused(""), "empty"));
  CHECK(contains(refused("abc"), "3 bytes are not a whole number of 16-bit tokens"));
  CHECK(contains(refused(words({1, 2, 10, 3})), "a.bin: token 2 is 10, but the model's are 0..9"));
  CHECK(contains(refused(headed({1, 2, 3}, 7)), "version 1, but this one has 7"));
  CHECK(contains(refused(headed({1, 2, 3}, 1, 1)), "says 4 tokens of 2 bytes, but 6 bytes"));
  CHECK(contains(refused(headed({1, 2, 3}, 1, -1)), "says 2 tokens"));
  CHECK(contains(refused(headed({1, 2, 3}, 1, -5)), "truncated or its header is damaged"));
  CHECK(contains(refused(headed({}).substr(0, 100)), "100 bytes are fewer than their header"));
  CHECK(contains(refused(words({1, 2})), "2 tokens are too few"));
}
