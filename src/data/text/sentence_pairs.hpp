// A parallel text as a data set: a sample is a pair of sentences, padded to the lengths of its
// mini-batch (data/text/parallel_text.hpp shows the rows). A model reads the tokens of source and
// target side by side, [S + T], and predicts the target's next token at each of its T positions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/parallel_text.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct PairLimits {           // per mini-batch
  std::int64_t tokens = 0;    // both sides with padding; 0: as many samples as asked for
  std::int64_t multiple = 8;  // lengths are padded to multiples of this
};

// What the pairs for training and those for validation share.
struct PairsInput {
  std::shared_ptr<const ParallelText> text;
  std::shared_ptr<const Pieces> pieces;
  std::string source;  // the source file, for messages
  PairLimits limits;
  Shape input;  // of the model
  int classes = 0;
  std::int64_t labels = 0;  // in the longest target
};

// The pairs `picked` of the text, in this order. Immutable: any thread may read. UsageError if a
// single pair exceeds the limit of tokens.
std::unique_ptr<const Dataset> sentence_pairs(PairsInput input, std::vector<SampleId> picked);

}  // namespace pipetrain
