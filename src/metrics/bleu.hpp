// BLEU of a corpus, by Papineni et al., "BLEU: a method for automatic evaluation of machine
// translation", ACL 2002, with sacrebleu's default choices, so that numbers can be compared with
// published ones (Post, "A call for clarity in reporting BLEU scores", WMT 2018): one reference,
// case kept, words by the tokenizer 13a, exponential smoothing, always four orders. Its signature:
// nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipetrain {

inline constexpr std::size_t bleu_orders = 4;  // n-grams of 1 to 4 words

// The counts that determine the score of a corpus. They are sums: those of parts of a corpus may be
// added in any order.
struct BleuCounts {
  std::array<std::int64_t, bleu_orders> matches = {};  // n-grams also in the reference, each
                                                       // counted at most as often as there
  std::array<std::int64_t, bleu_orders> totals = {};   // n-grams in the hypotheses
  std::int64_t hypothesis_words = 0, reference_words = 0;

  void add(std::string_view hypothesis, std::string_view reference);  // one sentence each, UTF-8
  bool operator==(const BleuCounts&) const = default;
};

struct Bleu {
  double score = 0;                                 // 0..100
  std::array<double, bleu_orders> precisions = {};  // 0..100, smoothed: the k-th order without a
                                                    // match counts as 1 / 2^k matches
  double brevity_penalty = 0;                       // 0..1: below 1 if the hypotheses are shorter
};

// If nothing matches, everything but the brevity penalty is 0. If there are no n-grams of some
// order, its precision is 0, and so is the score.
Bleu bleu(const BleuCounts& counts);

}  // namespace pipetrain
