// A parallel text as a data set: a sample is a pair of sentences, padded to the lengths of its
// mini-batch (data/text/parallel_text.hpp says how a row looks). A model reads the source's tokens
// and the target's side by side, [S + T], and predicts the target's next token at each of T
// positions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/parallel_text.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct PairLimits {           // of a mini-batch
  std::int64_t tokens = 0;    // of both sides with padding; 0: as many samples as are asked for
  std::int64_t multiple = 8;  // that lengths are padded to
};

// What pairs of one model of pieces have in common, for training and for validation.
struct PairsInput {
  std::shared_ptr<const ParallelText> text;
  std::shared_ptr<const Pieces> pieces;
  std::string source;  // the file of the sources, for messages
  PairLimits limits;
  Shape input;  // of the model
  int classes = 0;
  std::int64_t labels = 0;  // of the longest target
};

// The pairs `picked` of the text, in this order. Immutable: any thread may read.
// UsageError where one pair alone is over the limit of tokens.
std::unique_ptr<const Dataset> sentence_pairs(PairsInput input, std::vector<SampleId> picked);

}  // namespace pipetrain
