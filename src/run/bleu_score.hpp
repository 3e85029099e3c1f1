// BLEU of a model's translations of the validation sources: greedy ones, against the lines of the
// targets as they are written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/pieces.hpp"
#include "decode/translator.hpp"

namespace pipetrain {

struct Graph;

struct BleuScoreInput {  // everything outlives the score
  const Graph& graph;
  const Config& config;
  const Datasets& data;
  Backend& backend;
};

// Threading: as Translator, whose kernels and memory stay from one score to the next.
class BleuScore {
 public:
  // Reads the lines. DataError; UsageError: a model that does not translate.
  explicit BleuScore(const BleuScoreInput& input);

  // 0..100, by weights of the names of the graph's parameters. A sentence whose outputs are not
  // finite has an empty translation.
  double of(const NamedTensors& parameters);

 private:
  std::shared_ptr<const Pieces> pieces_;
  std::vector<std::vector<Token>> sources_;
  std::vector<std::string> references_;
  Translator translator_;
};

// What the config's validation asks for: null where it goes by the loss, or nothing validates.
std::unique_ptr<BleuScore> bleu_score(const BleuScoreInput& input);

}  // namespace pipetrain
