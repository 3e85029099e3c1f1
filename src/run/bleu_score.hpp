// BLEU of a model's greedy translations of the validation sources, compared with the lines of the
// targets as written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/pieces.hpp"
#include "decode/translator.hpp"

namespace pipetrain {

struct Graph;

struct BleuScoreInput {  // everything must outlive the score
  const Graph& graph;
  const Config& config;
  const Datasets& data;
  Backend& backend;
};

// Threading: as for Translator, whose kernels and memory are kept from one score to the next.
class BleuScore {
 public:
  // Reads the lines. DataError; UsageError for a model that does not translate.
  explicit BleuScore(const BleuScoreInput& input);

  // 0..100, with these weights, named like the graph's parameters. A sentence whose outputs are not
  // finite counts as an empty translation.
  double of(const NamedTensors& parameters);

 private:
  std::shared_ptr<const Pieces> pieces_;
  std::vector<std::vector<Token>> sources_;
  std::vector<std::string> references_;
  Translator translator_;
};

// The score that the config's validation asks for; null if validation goes by the loss or is off.
std::unique_ptr<BleuScore> bleu_score(const BleuScoreInput& input);

}  // namespace pipetrain
