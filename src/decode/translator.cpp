#include "decode/translator.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "graph/graph.hpp"
#include "graph/lengths.hpp"

namespace pipetrain {
namespace {

constexpr std::int64_t most_pieces_more = 50;  // in a translation than in its sentence

}  // namespace

Translator::Translator(const TranslatorInput& in)
    : beam_(in.beam),
      sentences_(in.sentences),
      pad_(in.pieces.pad()),
      begin_(in.pieces.begin()),
      rules_{.beam = in.beam,
             .length_penalty = in.length_penalty,
             .longest = lengths_of(in.graph).target,
             .end = in.pieces.end(),
             .never = {in.pieces.pad(), in.pieces.begin(), in.pieces.unknown()}},
      pass_({in.graph, in.backend, in.config, in.beam * in.sentences}) {
  PIPETRAIN_CHECK(in.pieces.size() == in.graph.input.vocabulary, "{} pieces for a vocabulary of {}",
                  in.pieces.size(), in.graph.input.vocabulary);
}

std::int64_t Translator::padded(const std::vector<Token>& sentence) const {
  return pass_.padded(std::ssize(sentence) + 1, pass_.longest().source);
}

// Sentences of similar length end after a similar number of steps. All that are translated together
// are padded to the same length, because the amount of padding affects how sums are rounded.
std::vector<Translation> Translator::translate(std::span<const std::vector<Token>> sentences) {
  std::vector<Translation> translations(sentences.size());
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < sentences.size(); ++s)
    if (!sentences[s].empty()) order.push_back(s);
  std::ranges::stable_sort(order, {}, [&](std::size_t s) { return sentences[s].size(); });
  for (std::size_t first = 0, behind = 0; first < order.size(); first = behind) {
    const auto length = [&](std::size_t i) { return padded(sentences[order[i]]); };
    const std::size_t most = std::min(order.size(), first + static_cast<std::size_t>(sentences_));
    while (behind < most && length(behind) == length(first)) ++behind;
    translate(sentences, Batch(order).subspan(first, behind - first), translations);
  }
  return translations;
}

// The rows of a search are consecutive. Rows without a sentence hold an empty one.
void Translator::read(std::span<const std::vector<Token>> sentences, Batch batch) {
  const std::int64_t length = padded(sentences[batch[0]]);
  tokens_.assign(pass_.rows() * length, pad_);
  for (int row = 0; row < pass_.rows(); ++row) {
    auto at = tokens_.begin() + row * length;
    const auto in_batch = static_cast<std::size_t>(row / beam_);
    if (in_batch < batch.size()) {
      const std::vector<Token>& sentence = sentences[batch[in_batch]];
      PIPETRAIN_CHECK(std::ssize(sentence) <= most_pieces(), "a sentence of {} pieces",
                      sentence.size());
      at = std::ranges::copy(sentence, at).out;
    }
    *at = rules_.end;
  }
  pass_.read_sources(tokens_, length);
}

// A hypothesis continues its parent's prefix with its last token. Rows that no search needs
// continue with whatever they hold.
void Translator::step(std::vector<BeamSearch>& searches) {
  tokens_.assign(pass_.rows(), begin_);
  from_.resize(tokens_.size());
  std::iota(from_.begin(), from_.end(), 0);
  std::vector<int> rows;  // that a search needs
  for (std::size_t s = 0; s < searches.size(); ++s)
    for (std::size_t h = 0; h < searches[s].open().size(); ++h) {
      const Hypothesis& hypothesis = searches[s].open()[h];
      const auto first = s * static_cast<std::size_t>(beam_), row = first + h;
      from_[row] = static_cast<int>(first + hypothesis.parent);
      if (!hypothesis.tokens.empty()) tokens_[row] = hypothesis.tokens.back();
      rows.push_back(static_cast<int>(row));
    }
  const std::span<float> outputs = pass_.next(tokens_, from_);
  const std::size_t width = outputs.size() / static_cast<std::size_t>(pass_.rows());
  const auto of_row = [&](int row) {
    return outputs.subspan(static_cast<std::size_t>(row) * width, width);
  };
#pragma omp parallel for schedule(dynamic) num_threads(pass_.threads())
  for (std::size_t r = 0; r < rows.size(); ++r) to_log_probabilities(of_row(rows[r]));
  for (std::size_t s = 0; s < searches.size(); ++s) {
    if (searches[s].done()) continue;
    std::vector<std::span<const float>> said;
    for (std::size_t h = 0; h < searches[s].open().size(); ++h)
      said.push_back(of_row(static_cast<int>(s) * beam_ + static_cast<int>(h)));
    searches[s].advance(said);
  }
}

void Translator::translate(std::span<const std::vector<Token>> sentences, Batch batch,
                           std::vector<Translation>& translations) {
  read(sentences, batch);
  std::vector<BeamSearch> searches;
  for (const std::size_t s : batch) {
    SearchRules rules = rules_;
    rules.longest = std::min(rules.longest, std::ssize(sentences[s]) + most_pieces_more);
    searches.emplace_back(rules);
  }
  while (!std::ranges::all_of(searches, &BeamSearch::done)) step(searches);
  for (std::size_t s = 0; s < batch.size(); ++s) {
    Translation& translation = translations[batch[s]];
    const Hypothesis* const best = searches[s].best();
    translation.finite = best != nullptr;
    if (!best) continue;
    translation.pieces.assign(best->tokens.begin(), best->tokens.end());
    translation.score = best->score;
  }
}

}  // namespace pipetrain
