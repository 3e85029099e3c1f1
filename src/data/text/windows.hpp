// A long sequence of tokens as samples: windows of T + 1 tokens, of which the first T are read and
// the last T predicted.
//
//   tokens    a b c d e f g h i j      T = 3, stride = 3
//   window 0  a b c d                  reads a b c, predicts b c d
//   window 1        d e f g
//   window 2              g h i j
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/vocabulary.hpp"

namespace pipetrain {

struct Graph;

struct TokenSpan {  // [first, last) of the tokens of a file
  std::shared_ptr<const std::vector<Token>> tokens;
  std::int64_t first = 0, last = 0;
  std::filesystem::path file;
};

// What a file of text or of tokens holds, and that of validation, where one is named.
struct Sequences {
  std::vector<TokenSpan> train, validation;
  std::shared_ptr<const Vocabulary> vocabulary;  // null: tokens that no text is known of
};

// The last `fraction` (above 0, below 1) of each span goes to `validation`.
Sequences hold_out_tails(Sequences sequences, double fraction);

// No window is in two spans. `stride`: from one window to the next; 0: T. What is left after
// the last whole window is not read. DataError where a span is shorter than a window. The graph is
// one that require_token_model() takes.
std::unique_ptr<const Dataset> windows_of(std::vector<TokenSpan> spans, std::int64_t stride,
                                          const Graph& graph);

// UsageError where the model reads no sequence of tokens, or one of two sides, or does not predict
// one at each position.
void require_token_model(std::string_view source, const Graph& graph);
// Tokens that the model both reads and predicts: 0 .. this - 1.
std::int64_t model_vocabulary(const Graph& graph);

}  // namespace pipetrain
