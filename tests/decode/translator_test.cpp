// Sentences through the small model: whatever company they are in, they come out the same.
#include "decode/translator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "backends.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "catch.hpp"
#include "data/data_files.hpp"
#include "data/text/train_pieces.hpp"
#include "graph/graph.hpp"
#include "small_translator.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// 20 pieces, as many as the small model knows: four special ones, letters and some words.
Pieces letters() {
  const test::Folder folder;
  std::string text;
  for (const char* const line : {"abc abd", "bcd acd", "dcba", "abcd dcba", "a b c d", "cab bad"})
    text += std::string(line) + "\n";
  return {train_pieces({.files = {folder.write("text", text)}, .vocabulary = 20, .kind = "bpe"}),
          "letters"};
}

using Sentences = std::vector<std::vector<Token>>;

Sentences drawn(int count, std::uint64_t seed) {
  Random random(seed, 3);
  Sentences sentences;
  for (int s = 0; s < count; ++s) {
    auto& sentence = sentences.emplace_back(1 + random.below(11));
    for (Token& piece : sentence) piece = static_cast<Token>(4 + random.below(16));
  }
  return sentences;
}

// Products of few rows may add up differently from those of many.
bool same(const Translation& x, const Translation& y) {
  return x.pieces == y.pieces && x.finite == y.finite && x.score == Approx(y.score).epsilon(1e-5);
}

struct World {
  Graph graph;
  Config config;
  std::unique_ptr<Backend> backend;
  Pieces pieces = letters();
  NamedTensors tensors = initial_parameters(graph, 3);
  explicit World(const std::string& name, const char* model = small_translator)
      : graph(read_model_text(model, "small")),
        config(small_config(name)),
        backend(make_backend(name)) {
    // Large weights: outputs that differ from sentence to sentence.
    for (auto& [name, tensor] : tensors) {
      Random random(5, name);
      if (tensor.shape.dims.size() == 2)
        for (float& x : floats(tensors, name)) x = static_cast<float>(random.normal());
    }
    if (tensors.contains("kv.weight"))
      for (float& x : floats(tensors, "kv.weight")) x *= 8;
  }
  Translator translator(int beam, int sentences) const {
    return Translator({.graph = graph,
                       .backend = *backend,
                       .config = config,
                       .pieces = pieces,
                       .beam = beam,
                       .length_penalty = 0.6,
                       .sentences = sentences});
  }
};

}  // namespace

TEST_CASE("a translation depends neither on its company nor on its place", "[backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const int beam = GENERATE(1, 3);
  const World world(backend);
  const std::size_t count = backend == "cuda" ? 5 : 30;  // the device may be a software one
  Translator translator = world.translator(beam, 4);
  translator.put_parameters(world.tensors);
  const Sentences sentences = drawn(static_cast<int>(count), 1);
  const std::vector<Translation> together = translator.translate(sentences);
  REQUIRE(together.size() == count);
  std::set<std::vector<Token>> different;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    CHECK(same(translator.translate(std::span(&sentences[s], 1))[0], together[s]));
    different.insert(together[s].pieces);
  }
  CHECK(different.size() > count / 6);
  Sentences reversed(sentences.rbegin(), sentences.rend());
  const std::vector<Translation> backwards = translator.translate(reversed);
  for (std::size_t s = 0; s < sentences.size(); ++s)
    CHECK(same(backwards[count - 1 - s], together[s]));
}

namespace {

// The score of a translation by a pass of its own, which is given its pieces one by one.
double score_of(const World& world, const std::vector<Token>& sentence,
                const std::vector<Token>& pieces, double length_penalty) {
  TranslationPass pass({world.graph, *world.backend, world.config, 1});
  pass.put_parameters(world.tensors);
  const std::int64_t length = pass.padded(std::ssize(sentence) + 1, pass.longest().source);
  std::vector<std::int32_t> source(static_cast<std::size_t>(length), world.pieces.pad());
  *std::ranges::copy(sentence, source.begin()).out = world.pieces.end();
  pass.read_sources(source, length);
  std::vector<std::int32_t> said(pieces.begin(), pieces.end());
  if (std::ssize(said) < pass.longest().target) said.push_back(world.pieces.end());
  double sum = 0;
  std::int32_t before = world.pieces.begin();
  for (const std::int32_t piece : said) {
    const std::span<float> outputs = pass.next(std::span(&before, 1), std::array{0});
    to_log_probabilities(outputs);
    sum += outputs[static_cast<std::size_t>(piece)];
    before = piece;
  }
  return sum / std::pow((5.0 + static_cast<double>(said.size())) / 6, length_penalty);
}

}  // namespace

TEST_CASE("a hypothesis continues with its own prefix: its score is that of its pieces") {
  const char* const model = GENERATE(small_translator, small_recurrent_translator);
  const World world("cpu", model);
  Translator translator = world.translator(3, 4);  // with a length penalty of 0.6
  translator.put_parameters(world.tensors);
  const Sentences sentences = drawn(24, 6);
  const std::vector<Translation> translations = translator.translate(sentences);
  for (std::size_t s = 0; s < sentences.size(); ++s)
    CHECK(translations[s].score ==
          Approx(score_of(world, sentences[s], translations[s].pieces, 0.6)).epsilon(1e-4));
}

TEST_CASE("a beam finds what is as likely as the greedy translation, or likelier") {
  const World world("cpu");
  Translator greedy = world.translator(1, 8), wide = world.translator(5, 8);
  greedy.put_parameters(world.tensors);
  wide.put_parameters(world.tensors);
  const Sentences sentences = drawn(24, 2);
  const auto first = greedy.translate(sentences), second = wide.translate(sentences);
  double gained = 0;
  for (std::size_t s = 0; s < sentences.size(); ++s) gained += second[s].score - first[s].score;
  CHECK(gained > 0);
}

TEST_CASE("no translation has padding, begin, unknown or end, nor is longer than the model") {
  const World world("cpu");
  Translator translator = world.translator(2, 8);
  translator.put_parameters(world.tensors);
  CHECK(translator.most_pieces() == 11);
  for (const Translation& translation : translator.translate(drawn(24, 4))) {
    CHECK(translation.finite);
    CHECK(translation.pieces.size() <= 8);
    CHECK(translation.score < 0);
    for (const Token piece : translation.pieces) CHECK(piece >= 4);
  }
}

TEST_CASE("an empty sentence has an empty translation, and other weights give other translations") {
  const World world("cpu");
  Translator translator = world.translator(1, 8);
  translator.put_parameters(world.tensors);
  Sentences sentences = drawn(6, 5);
  sentences[2].clear();
  const auto first = translator.translate(sentences);
  CHECK(first[2].pieces.empty());
  CHECK(first[2].finite);
  CHECK(translator.translate({}).empty());
  translator.put_parameters(initial_parameters(world.graph, 9));
  const auto second = translator.translate(sentences);
  CHECK_FALSE(std::ranges::equal(first, second, same));
  translator.put_parameters(world.tensors);
  CHECK(std::ranges::equal(first, translator.translate(sentences), same));
}

TEST_CASE("weights that are not finite translate nothing, and say so") {
  const World world("cpu");
  Translator translator = world.translator(1, 2);
  NamedTensors broken = world.tensors;
  floats(broken, "norm.bias")[0] = std::numeric_limits<float>::quiet_NaN();
  translator.put_parameters(broken);
  const auto translations = translator.translate(drawn(3, 1));
  for (const Translation& translation : translations) {
    CHECK_FALSE(translation.finite);
    CHECK(translation.pieces.empty());
  }
}
