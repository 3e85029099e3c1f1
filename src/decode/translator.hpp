// Translates sentences, as pieces, from one language to another: together those that are
// padded to the same length, each with its own search over the model's outputs for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/text/pieces.hpp"
#include "decode/beam_search.hpp"
#include "decode/translation_pass.hpp"

namespace pipetrain {

struct Graph;

struct TranslatorInput {  // graph, backend and config must outlive the translator
  const Graph& graph;
  Backend& backend;
  const Config& config;
  const Pieces& pieces;  // used only by the constructor
  int beam = 1;
  double length_penalty = 0;  // decode/beam_search.hpp
  int sentences = 64;         // translated together
};

struct Translation {
  std::vector<Token> pieces;  // without the end
  double score = 0;           // Hypothesis::score
  bool finite = true;         // false: outputs were not finite, there is no translation
};

// Never produces pad, begin or unknown. A translation has at most 50 pieces more than its sentence
// (Vaswani et al., "Attention is all you need", 2017, section 6.1), and at most the model's
// longest. It is a function of its sentence, the weights and the input above: neither the other
// sentences of the call nor its place among them matter.
// Kernels are compiled once for each padded source length that occurs (those that read whole
// prefixes, once for each pair of lengths), and kept.
// Threading: as for TranslationPass. UsageError: needs_to_translate().
class Translator {
 public:
  explicit Translator(const TranslatorInput& input);

  void put_parameters(const NamedTensors& tensors) { pass_.put_parameters(tensors); }

  // The most pieces, without the end, that a sentence may have.
  std::int64_t most_pieces() const { return pass_.longest().source - 1; }

  // One per sentence, in their order; an empty sentence gives an empty one.
  std::vector<Translation> translate(std::span<const std::vector<Token>> sentences);

 private:
  using Batch = std::span<const std::size_t>;  // numbers of sentences translated together
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
