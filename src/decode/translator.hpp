// Sentences of one language to sentences of another, as pieces: batches of sentences that are
// padded alike, each with a search of its own over what the model says of all at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/text/pieces.hpp"
#include "decode/beam_search.hpp"
#include "decode/translation_pass.hpp"

namespace pipetrain {

struct Graph;

struct TranslatorInput {  // graph, backend and config outlive the translator
  const Graph& graph;
  Backend& backend;
  const Config& config;
  const Pieces& pieces;  // read by the constructor alone
  int beam = 1;
  double length_penalty = 0;  // decode/beam_search.hpp
  int sentences = 64;         // at once
};

struct Translation {
  std::vector<Token> pieces;  // without the end
  double score = 0;           // Hypothesis::score
  bool finite = true;         // false: what the model put out was not, and there is no translation
};

// pad, begin and unknown are never produced; a translation has at most 50 pieces more than its
// sentence (Vaswani et al., "Attention is all you need", 2017, section 6.1), and at most the
// model's. It is a function of its sentence, the weights and the input above: neither of the others
// in the call nor of its place among them.
// Kernels are compiled once for each padded length of sources that comes up, those that read whole
// prefixes for each pair of lengths, and kept.
// Threading: as TranslationPass. UsageError: needs_to_translate().
class Translator {
 public:
  explicit Translator(const TranslatorInput& input);

  void put_parameters(const NamedTensors& tensors) { pass_.put_parameters(tensors); }

  // Of a sentence, without the end: more cannot be read.
  std::int64_t most_pieces() const { return pass_.longest().source - 1; }

  // One for each sentence, in their order; of an empty one an empty one.
  std::vector<Translation> translate(std::span<const std::vector<Token>> sentences);

 private:
  using Batch = std::span<const std::size_t>;  // which sentences
  void translate(std::span<const std::vector<Token>> sentences, Batch batch,
                 std::vector<Translation>& translations);
  std::int64_t padded(const std::vector<Token>& sentence) const;
  void read(std::span<const std::vector<Token>> sentences, Batch batch);
  void step(std::vector<BeamSearch>& searches);

  int beam_, sentences_;
  std::int32_t pad_, begin_;
  SearchRules rules_;
  TranslationPass pass_;
  std::vector<std::int32_t> tokens_;
  std::vector<int> from_;  // per row
};

}  // namespace pipetrain
