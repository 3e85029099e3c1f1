// Parallel texts: pairs line by line, what is dropped and counted, and what is refused.
#include "data/text/parallel_text.hpp"

#include <set>

#include "catch.hpp"
#include "data/text/train_pieces.hpp"
#include "data_files.hpp"
#include "places.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const std::string german = "ein Hund rennt\nzwei Hunde\n\nein Mann sitzt im Park\nein Park\n";
const std::string english = "a dog runs\ntwo dogs\na cat\na man sits in the park\n \n";

struct TextPair {
  Folder folder;
  ParallelFiles files;
  Pieces source, target;
  TextPair(const std::string& de = german, const std::string& en = english)
      : files{folder.write("a.de", de), folder.write("a.en", en)},
        source(train_pieces({{folder.write("de", german)}, 23, "unigram"}), "de"),
        target(train_pieces({{folder.write("en", english)}, 26, "bpe"}), "en") {}
  ParallelText read(std::int64_t max_pieces = 100) const {
    return {files, source, target, max_pieces};
  }
  std::string refused(std::int64_t max_pieces = 100) const {
    return message_of<DataError>([&] { read(max_pieces); });
  }
};

}  // namespace

TEST_CASE("parallel text: pairs in the order of the files, empty lines dropped", "[parallel]") {
  const TextPair written;
  const ParallelText text = written.read();
  CHECK(text.counts() == ParallelCounts{.read = 5, .empty = 2, .too_long = 0, .kept = 3});
  REQUIRE(text.size() == 3);
  const std::string said[] = {"ein Hund rennt", "zwei Hunde", "ein Mann sitzt im Park"};
  const std::string meant[] = {"a dog runs", "two dogs", "a man sits in the park"};
  const std::int64_t lines[] = {1, 2, 4};
  const std::vector<PairLength> lengths = text.lengths();
  REQUIRE(lengths.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto pair = static_cast<std::int64_t>(i);
    CHECK(written.source.decode(text.source(pair)) == said[i]);
    CHECK(written.target.decode(text.target(pair)) == meant[i]);
    CHECK(text.line(pair) == lines[i]);
    CHECK(lengths[i].source == std::ssize(text.source(pair)) + 1);
    CHECK(lengths[i].target == std::ssize(text.target(pair)) + 1);
    CHECK(lengths[i].line == lines[i]);
  }
}

TEST_CASE("parallel text: gzip reads as plain does, with either end of line", "[parallel]") {
  const TextPair plain;
  std::string with_returns;
  for (const char c : english) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const TextPair packed(gzipped(german), gzipped(with_returns));
  const ParallelText a = plain.read(), b = packed.read();
  CHECK(a.counts() == b.counts());
  for (std::int64_t i = 0; i < a.size(); ++i)
    CHECK(plain.target.decode(a.target(i)) == packed.target.decode(b.target(i)));
}

TEST_CASE("parallel text: pairs over the limit are dropped, those at it are not", "[parallel]") {
  const TextPair written;
  const ParallelText all = written.read();
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < all.size(); ++i)
    longest = std::max({longest, std::ssize(all.source(i)), std::ssize(all.target(i))});
  CHECK(written.read(longest).counts() == all.counts());
  const ParallelText some = written.read(longest - 1);
  CHECK(some.counts() == ParallelCounts{.read = 5, .empty = 2, .too_long = 1, .kept = 2});
  CHECK(some.line(1) == 2);
  // Either side alone is enough: the other one is far below its limit.
  std::string longer = "Hund";
  for (int i = 0; i < 20; ++i) longer += " Hund";
  CHECK(TextPair(longer + "\nHund\n", "dog\ndog\n").read(20).counts().too_long == 1);
  CHECK(TextPair("Hund\nHund\n", longer + "\ndog\n").read(20).counts().too_long == 1);
}

TEST_CASE("parallel text: sides of different length are refused with both", "[parallel]") {
  const auto said = TextPair("a\nb\nc\n", "a\n").refused();
  CHECK(contains(said, "a.de has 3 lines, but "));
  CHECK(contains(said, "a.en has 1; "));
  CHECK(contains(TextPair("a\n", "a\nb").refused(), "a.de has 1 line"));
  CHECK(contains(TextPair("a\n", "a\nb").refused(), "a.en has 2; "));
  CHECK(contains(TextPair("", "a\n").refused(), "a.de has 0 lines"));
}

TEST_CASE("parallel text: text that is not UTF-8 is refused with file and line", "[parallel]") {
  CHECK(contains(TextPair("a\nb\n", "a\n\xff\n").refused(), "a.en:2: invalid UTF-8"));
  CHECK(contains(TextPair("a\nb\n\x80", "a\nb\nc").refused(), "a.de:3: invalid UTF-8"));
}

TEST_CASE("parallel text: a text with no pair left is refused with the counts", "[parallel]") {
  CHECK(contains(TextPair("", "").refused(), "a.de: no pair is left to train on: of 0 read"));
  const auto said = TextPair("ein Hund\n\n", "a dog\na\n").refused(1);
  CHECK(contains(said, "of 2 read, 1 are empty on one side, and 1 have more than 1 pieces"));
}

TEST_CASE("Multi30k reads as it is", "[parallel]") {
  const std::filesystem::path folder = extras() / "data/multi30k";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no data/multi30k in PIPETRAIN_EXTRAS");
    return;
  }
  const std::filesystem::path de = folder / "val.de.gz", en = folder / "val.en.gz";
  const Pieces pieces(train_pieces({{de, en}, 2000, "bpe"}), "multi30k");
  const ParallelText text({de, en}, pieces, pieces, 64);
  CHECK(text.counts().read == 1014);
  CHECK(text.counts().kept == 1014);
  CHECK(pieces.decode(text.target(0)) == "A group of men are loading cotton onto a truck");
  const std::vector<PairLength> lengths = text.lengths();
  BucketOrder order(lengths, {.max_tokens = 2048}, "val.de.gz");
  std::set<SampleId> seen;
  for (std::int64_t step = 0; step < order.steps_per_epoch(); ++step) {
    const auto minibatch = order.of(step);
    CHECK(std::ssize(minibatch.samples) * (minibatch.lengths.source + minibatch.lengths.target) <=
          2048);
    for (const SampleId id : minibatch.samples) {
      CHECK(std::ssize(text.source(id)) < minibatch.lengths.source);
      CHECK(std::ssize(text.target(id)) < minibatch.lengths.target);
      seen.insert(id);
    }
  }
  CHECK(seen.size() == 1014);
  CHECK(order.padding() < 0.3);
}
