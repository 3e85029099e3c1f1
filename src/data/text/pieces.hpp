// Sentences as pieces of words, by a SentencePiece model (Kudo and Richardson, "SentencePiece: a
// simple and language independent subword tokenizer and detokenizer for neural text processing",
// EMNLP 2018): what a translation model reads and writes. data/text/train_pieces.hpp makes one.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/vocabulary.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace pipetrain {

// Only the two .cpp files of pieces include sentencepiece_processor.h; others get the version here.
std::string_view version_of_sentencepiece();

// Immutable: any thread may use it. Ids are 0 .. size() - 1.
class Pieces {
 public:
  // Reads a model file. DataError names the file if it cannot be read, is not a model, is damaged,
  // has more than tokens_max pieces, or does not have all four special pieces below.
  static Pieces read(const std::filesystem::path& file);
  // `model`: the bytes of such a file; `source` begins messages.
  Pieces(std::string_view model, const std::string& source);
  ~Pieces();
  Pieces(Pieces&&) noexcept;
  Pieces& operator=(Pieces&&) noexcept;

  std::int64_t size() const { return size_; }
  std::string model() const;                  // its bytes, as in a file
  Token pad() const { return pad_; }          // fills sentences up to the same length
  Token unknown() const { return unknown_; }  // stands for what no other piece has
  Token begin() const { return begin_; }      // before a sentence (BOS)
  Token end() const { return end_; }          // after a sentence (EOS)

  // The pieces of a sentence in UTF-8, without begin and end; none for white space. DataError if
  // the library cannot encode it by a model that it has accepted, as by one that has a piece twice.
  std::vector<Token> encode(std::string_view sentence) const;
  // The text of any ids; begin, end and pad give none, unknown gives " \u2047 ". DataError as
  // above.
  std::string decode(std::span<const Token> pieces) const;
  // A piece as the model spells it, with U+2581 for the blank before a word. For messages and
  // tests.
  std::string spelling(Token piece) const;

 private:
  Token special(int id, std::string_view name, const std::string& source) const;

  std::unique_ptr<const sentencepiece::SentencePieceProcessor> model_;
  std::string source_;
  std::int64_t size_ = 0;
  Token pad_ = 0, unknown_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace pipetrain
