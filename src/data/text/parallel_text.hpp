// A parallel text: sentences in one language and, line by line, their translations into another, as
// pieces. Two files of UTF-8, plain or gzip, one sentence per line.
//
// For a mini-batch of a bucket (data/text/buckets.hpp) with the bounds S and T, three tables of
// tokens are made from it; each row is a pair p of the mini-batch, and pad fills the rest:
//
//   source  [samples, S]   source(p) end pad ...         what the encoder reads
//   input   [samples, T]   begin target(p) pad ...       what the decoder reads
//   labels  [samples, T]   target(p) end pad ...         what it predicts; the loss leaves pad out
//
// So lengths() counts one piece more than a sentence has, on either side. begin, end and pad are
// those of Pieces, for the source or the target; attention masks follow from where pad is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/text/buckets.hpp"
#include "data/text/pieces.hpp"

namespace pipetrain {

struct ParallelFiles {
  std::filesystem::path source, target;
};

struct ParallelCounts {       // pairs of lines
  std::int64_t read = 0;      // in the files: empty + too_long + kept
  std::int64_t empty = 0;     // dropped: a side without pieces, such as only white space
  std::int64_t too_long = 0;  // dropped: a side over the limit, and neither empty
  std::int64_t kept = 0;
  bool operator==(const ParallelCounts&) const = default;
};

// "29000 pairs of sentences, 12 dropped: 2 with an empty side, 10 longer than 63 pieces"
std::string text_of(const ParallelCounts& counts, std::int64_t max_pieces);

// Immutable: any thread may read. Takes two bytes per piece and 24 per pair.
class ParallelText {
 public:
  // If both languages share one model of pieces, pass it twice. `max_pieces`: per sentence, without
  // begin and end; longer pairs are dropped, not cut. DataError: a file that cannot be read, a line
  // that is not UTF-8 (with file and line), sides with different numbers of lines (with both
  // numbers), or no pair left.
  ParallelText(const ParallelFiles& files, const Pieces& source, const Pieces& target,
               std::int64_t max_pieces);

  const ParallelCounts& counts() const { return counts_; }
  std::int64_t size() const { return counts_.kept; }

  // The pieces, at least one, of pair 0 .. size() - 1, in the order of the files.
  std::span<const Token> source(std::int64_t pair) const { return sentence(2 * pair); }
  std::span<const Token> target(std::int64_t pair) const { return sentence(2 * pair + 1); }
  std::int64_t line(std::int64_t pair) const { return lines_[pair]; }

  // The lengths from which buckets are made.
  std::vector<PairLength> lengths() const;

 private:
  std::span<const Token> sentence(std::int64_t index) const;
  void add(std::span<const Token> source, std::span<const Token> target);

  ParallelCounts counts_;
  std::vector<Token> pieces_;        // source and target alternately
  std::vector<std::size_t> ends_;    // one per sentence, in pieces_
  std::vector<std::int64_t> lines_;  // one per pair, from 1
};

}  // namespace pipetrain
