#include "data/text/parallel_text.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "data/text/line_file.hpp"

namespace pipetrain {

namespace {

void read_to_end(LineFile& file) {
  while (file.next()) {
  }
}

[[noreturn]] void refuse_lengths(const LineFile& source, const LineFile& target) {
  throw DataError(
      fmt::format("{} has {}, but {} has {}; line n of one must be the translation of line n "
                  "of the other",
                  source.path().string(), counted(source.lines(), "line"), target.path().string(),
                  target.lines()));
}

}  // namespace

std::string text_of(const ParallelCounts& counts, std::int64_t max_pieces) {
  const std::string kept = counted(counts.kept, "pair") + " of sentences";
  if (counts.kept == counts.read) return kept;
  return fmt::format("{}, {} dropped: {} with an empty side, {} longer than {} pieces", kept,
                     counts.read - counts.kept, counts.empty, counts.too_long, max_pieces);
}

ParallelText::ParallelText(const ParallelFiles& files, const Pieces& source, const Pieces& target,
                           std::int64_t max_pieces) {
  PIPETRAIN_CHECK(max_pieces > 0, "a limit of {} pieces", max_pieces);
  LineFile sources(files.source), targets(files.target);
  while (true) {
    const auto from = sources.next(), to = targets.next();
    if (from.has_value() != to.has_value()) {
      read_to_end(from ? sources : targets);
      refuse_lengths(sources, targets);
    }
    if (!from) break;
    ++counts_.read;
    const std::vector<Token> ours = source.encode(*from), theirs = target.encode(*to);
    if (ours.empty() || theirs.empty())
      ++counts_.empty;
    else if (std::max(std::ssize(ours), std::ssize(theirs)) > max_pieces)
      ++counts_.too_long;
    else
      add(ours, theirs);
  }
  if (counts_.kept == 0)
    throw DataError(fmt::format(
        "{}: no pair is left to train on: of {} read, {} are empty on one side, and {} have more "
        "than {} pieces; name other files, or a model that takes longer sentences",
        files.source.string(), counts_.read, counts_.empty, counts_.too_long, max_pieces));
  pieces_.shrink_to_fit();
  ends_.shrink_to_fit();
  lines_.shrink_to_fit();
}

void ParallelText::add(std::span<const Token> source, std::span<const Token> target) {
  for (const auto sentence : {source, target}) {
    pieces_.insert(pieces_.end(), sentence.begin(), sentence.end());
    ends_.push_back(pieces_.size());
  }
  lines_.push_back(counts_.read);
  ++counts_.kept;
}

std::span<const Token> ParallelText::sentence(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t first = i == 0 ? 0 : ends_[i - 1];
  return std::span(pieces_).subspan(first, ends_[i] - first);
}

std::vector<PairLength> ParallelText::lengths() const {
  std::vector<PairLength> lengths;
  lengths.reserve(lines_.size());
  for (std::int64_t pair = 0; pair < size(); ++pair)
    lengths.push_back({std::ssize(source(pair)) + 1, std::ssize(target(pair)) + 1, line(pair)});
  return lengths;
}

}  // namespace pipetrain
