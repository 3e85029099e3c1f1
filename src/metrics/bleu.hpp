// BLEU of a corpus, by Papineni et al., "BLEU: a method for automatic evaluation of machine
// translation", ACL 2002, with the choices that sacrebleu makes by default, so that numbers can be
// compared with published ones (Post, "A call for clarity in reporting BLEU scores", WMT 2018):
// one reference, case kept, words by the tokenizer 13a, exponential smoothing, always four orders.
// Its signature: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipetrain {

inline constexpr std::size_t bleu_orders = 4;  // n-grams of 1 to 4 words

// What a corpus is scored by. Sums: counts of parts of a corpus may be added in any order.
struct BleuCounts {
  std::array<std::int64_t, bleu_orders> matches = {};  // n-grams that the reference has too, each
                                                       // as often as there at most
  std::array<std::int64_t, bleu_orders> totals = {};   // n-grams of the hypotheses
  std::int64_t hypothesis_words = 0, reference_words = 0;

  void add(std::string_view hypothesis, std::string_view reference);  // one sentence each, UTF-8
  bool operator==(const BleuCounts&) const = default;
};

struct Bleu {
  double score = 0;                                 // 0..100
  std::array<double, bleu_orders> precisions = {};  // 0..100, smoothed: the k-th order without a
                                                    // match counts 1 / 2^k matches
  double brevity_penalty = 0;  // 0..1: below 1 where the hypotheses are shorter
};

// All 0 but for the brevity penalty where nothing matches. Of an order without n-grams the
// precision is 0, and so is the score.
Bleu bleu(const BleuCounts& counts);

}  // namespace pipetrain
