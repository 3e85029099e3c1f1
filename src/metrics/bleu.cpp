#include "metrics/bleu.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "metrics/bleu_words.hpp"

namespace pipetrain {

namespace {

using Ngram = std::array<int, bleu_orders>;  // numbers of words; 0 after the last
using Ngrams = std::array<std::map<Ngram, std::int64_t>, bleu_orders>;  // how often each occurs

// Numbers the words of a pair of sentences, from 1.
class Numbers {
 public:
  std::vector<int> of(const std::vector<std::string>& words) {
    std::vector<int> numbers;
    for (const std::string& word : words)
      numbers.push_back(
          numbers_.try_emplace(word, static_cast<int>(numbers_.size()) + 1).first->second);
    return numbers;
  }

 private:
  std::map<std::string, int> numbers_;
};

Ngrams ngrams_of(const std::vector<int>& words) {
  Ngrams ngrams;
  for (std::size_t first = 0; first < words.size(); ++first) {
    Ngram ngram = {};
    for (std::size_t n = 0; n < bleu_orders && first + n < words.size(); ++n) {
      ngram[n] = words[first + n];
      ++ngrams[n][ngram];
    }
  }
  return ngrams;
}

double brevity_penalty(const BleuCounts& counts) {
  if (counts.hypothesis_words >= counts.reference_words) return 1;
  if (counts.hypothesis_words == 0) return 0;
  return std::exp(1 - static_cast<double>(counts.reference_words) /
                          static_cast<double>(counts.hypothesis_words));
}

}  // namespace

void BleuCounts::add(std::string_view hypothesis, std::string_view reference) {
  Numbers numbers;
  const std::vector<int> ours = numbers.of(words_13a(hypothesis)),
                         theirs = numbers.of(words_13a(reference));
  hypothesis_words += std::ssize(ours);
  reference_words += std::ssize(theirs);
  const Ngrams said = ngrams_of(ours), expected = ngrams_of(theirs);
  for (std::size_t n = 0; n < bleu_orders; ++n) {
    for (const auto& [ngram, count] : said[n]) {
      totals[n] += count;
      const auto there = expected[n].find(ngram);
      if (there != expected[n].end()) matches[n] += std::min(count, there->second);
    }
  }
}

Bleu bleu(const BleuCounts& counts) {
  Bleu result;
  result.brevity_penalty = brevity_penalty(counts);
  if (std::ranges::all_of(counts.matches, [](auto matches) { return matches == 0; })) return result;
  double without_match = 1;  // 2^k at the k-th order without a match
  for (std::size_t n = 0; n < bleu_orders && counts.totals[n] > 0; ++n) {
    const auto total = static_cast<double>(counts.totals[n]);
    if (counts.matches[n] > 0) {
      result.precisions[n] = 100 * static_cast<double>(counts.matches[n]) / total;
    } else {
      without_match *= 2;
      result.precisions[n] = 100 / (without_match * total);
    }
  }
  if (std::ranges::any_of(result.precisions, [](double precision) { return precision == 0; }))
    return result;
  double logarithms = 0;
  for (const double precision : result.precisions) logarithms += std::log(precision);
  result.score = result.brevity_penalty * std::exp(logarithms / bleu_orders);
  return result;
}

}  // namespace pipetrain
