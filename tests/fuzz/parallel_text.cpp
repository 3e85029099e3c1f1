// Parallel texts and the buckets made of them, plain and gzip. The first byte of the input says
// what the rest is: both sides, with a line "===" between them ('b'), or the source of a good
// target of three lines ('s').
#include <string>
#include <vector>

#include "data/text/parallel_text.hpp"
#include "data/text/train_pieces.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

constexpr std::int64_t max_pieces = 20;
constexpr std::int64_t max_tokens = 64;  // two sentences of 20 pieces and an end, padded to 24: 48

Pieces learnt() {
  fuzz::MemoryFile text;
  return {
      train_pieces({{text.holding("the dog runs\na man and a dog\nabcdefghijk lmnopqrstuvwxyz\n")},
                    40,
                    "bpe"}),
      "made here"};
}

void check_sentence(std::span<const Token> sentence, const Pieces& pieces) {
  fuzz::require(!sentence.empty() && std::ssize(sentence) <= max_pieces,
                "a sentence has a piece, and at most as many as the limit");
  for (const Token piece : sentence)
    fuzz::require(piece < pieces.size() && piece != pieces.pad() && piece != pieces.begin() &&
                      piece != pieces.end(),
                  "a piece is one of the model's, and none that only a mini-batch has");
}

void check_text(const ParallelText& text, const Pieces& pieces) {
  const ParallelCounts& counts = text.counts();
  fuzz::require(counts.read == counts.empty + counts.too_long + counts.kept,
                "every pair is counted");
  for (std::int64_t i = 0; i < text.size(); ++i) {
    check_sentence(text.source(i), pieces);
    check_sentence(text.target(i), pieces);
    pieces.decode(text.source(i));
    fuzz::require(text.line(i) <= counts.read && (i == 0 || text.line(i) > text.line(i - 1)),
                  "lines rise");
  }
}

void check_buckets(const ParallelText& text) {
  BucketOrder order(text.lengths(), {.max_tokens = max_tokens}, "fuzz");
  std::vector<int> seen(static_cast<std::size_t>(text.size()));
  for (std::int64_t step = 0; step < order.steps_per_epoch(); ++step) {
    const auto minibatch = order.of(step);
    fuzz::require(
        std::ssize(minibatch.samples) * (minibatch.lengths.source + minibatch.lengths.target) <=
            max_tokens,
        "no mini-batch is over the limit");
    for (const SampleId id : minibatch.samples) {
      fuzz::require(++seen[static_cast<std::size_t>(id)] == 1, "a pair comes once an epoch");
      fuzz::require(std::ssize(text.source(id)) < minibatch.lengths.source &&
                        std::ssize(text.target(id)) < minibatch.lengths.target,
                    "a pair fits into its bucket");
    }
  }
  for (const int times : seen) fuzz::require(times == 1, "every pair comes in an epoch");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static const Pieces pieces = learnt();
  static fuzz::MemoryFile source, target;
  if (count == 0) return 0;
  const std::string_view rest = fuzz::text_of(bytes, count).substr(1);
  constexpr std::string_view between = "\n===\n", good = "a dog\nthe man\na man\n";
  const std::size_t middle = bytes[0] == 'b' ? rest.find(between) : std::string_view::npos;
  const bool both = middle != std::string_view::npos;
  const ParallelFiles files{source.holding(both ? rest.substr(0, middle + 1) : rest),
                            target.holding(both ? rest.substr(middle + between.size()) : good)};
  return fuzz::refused_or_read([&] {
    const ParallelText text(files, pieces, pieces, max_pieces);
    check_text(text, pieces);
    check_buckets(text);
  });
}
