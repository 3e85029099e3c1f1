// Learns a model of pieces (data/text/pieces.hpp) from texts, by SentencePiece with settings that
// are fixed: normalisation nmt_nfkc, every character of the text a piece, ids 0 pad, 1 unk, 2 bos,
// 3 eos. Lines with U+2585 are left out, as the library keeps it for itself. A function of the
// texts and the options: one thread, sentences in the order of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

struct PieceTraining {
  std::vector<std::filesystem::path> files;  // UTF-8, a sentence a line, plain or gzip
  std::int64_t vocabulary = 8000;            // pieces, with the four special ones
  std::string kind = "unigram";              // or "bpe"
};

// The bytes of the model, for Pieces and write_pieces(). DataError where a file cannot be read, is
// no UTF-8, or none has text. UsageError where the kind is not known, or the vocabulary is more
// than the texts give or less than their characters take, with the bound.
std::string train_pieces(const PieceTraining& options);

// Puts them under `file`, whole or not at all: written to `file`.part and renamed. DeviceError.
void write_pieces(std::string_view model, const std::filesystem::path& file);

}  // namespace pipetrain
