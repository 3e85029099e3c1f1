// A long sequence of tokens as samples: windows of T + 1 tokens, of which the model reads the first
// T and predicts the last T.
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

struct TokenSpan {  // first .. last - 1 of the tokens of a file
  std::shared_ptr<const std::vector<Token>> tokens;
  std::int64_t first = 0, last = 0;
  std::filesystem::path file;
};

// The contents of a file of text or tokens, and of the validation file, if one is named.
struct Sequences {
  std::vector<TokenSpan> train, validation;
  std::shared_ptr<const Vocabulary> vocabulary;  // null: tokens whose text is unknown
};

// Moves the last `fraction` (above 0, below 1) of each span to `validation`.
Sequences hold_out_tails(Sequences sequences, double fraction);

// No window crosses from one span to another. `stride`: from one window to the next; 0: T. What is
// left after the last whole window is not read. DataError if a span is shorter than a window. The
// graph must be one that require_token_model() accepts.
std::unique_ptr<const Dataset> windows_of(std::vector<TokenSpan> spans, std::int64_t stride,
                                          const Graph& graph);

// UsageError if the model does not read a sequence of tokens, or reads one with two sides, or does
// not predict a token at each position.
void require_token_model(std::string_view source, const Graph& graph);
// How many tokens the model both reads and predicts.
std::int64_t model_vocabulary(const Graph& graph);

}  // namespace pipetrain
