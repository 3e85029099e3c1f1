// Learns a model of pieces (data/text/pieces.hpp) from texts, by SentencePiece with fixed settings:
// normalisation nmt_nfkc, every character of the text a piece, ids 0 pad, 1 unk, 2 bos, 3 eos.
// Lines with U+2585 are left out, because the library reserves it. A function of the texts and the
// options: one thread, sentences in the order of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

struct PieceTraining {
  std::vector<std::filesystem::path> files;  // UTF-8, one sentence per line, plain or gzip
  std::int64_t vocabulary = 8000;            // pieces, including the four special ones
  std::string kind = "unigram";              // or "bpe"
};

// The bytes of the model, for Pieces and write_pieces(). DataError if a file cannot be read or is
// not UTF-8, or if no file has text. UsageError if the kind is unknown, or if the vocabulary is
// more than the texts give or too small for their characters; it names the bound.
std::string train_pieces(const PieceTraining& options);

// Writes them to `file`, completely or not at all: first to `file`.part, then renamed. DeviceError.
void write_pieces(std::string_view model, const std::filesystem::path& file);

}  // namespace pipetrain
