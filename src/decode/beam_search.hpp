// Beam search for the sequence that a model gives the most probability, token by token (Sutskever,
// Vinyals and Le, "Sequence to sequence learning with neural networks", NIPS 2014, section 3.2),
// with the length penalty of Wu et al., "Google's neural machine translation system",
// arXiv 1609.08144, equation 14. Knows no model: it is given log-probabilities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pipetrain {

struct SearchRules {
  int beam = 1;               // hypotheses kept at each step; 1: greedy
  double length_penalty = 0;  // alpha of equation 14, not below 0; 0: the sum alone counts
  std::int64_t longest = 1;   // tokens, the end too: what has not ended there is taken as it is
  std::int32_t end = 0;
  std::vector<std::int32_t> never = {};  // tokens that nobody wants to read
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // without the end
  std::size_t parent = 0;            // which of those that were open before it continues
  double log_probability = 0;        // of them, and of the end where there is one
  double score = 0;  // finished: log_probability / ((5 + |Y|) / 6)^alpha, |Y| with the end
};

// Outputs of a model for one position, in place: log-softmax. All NaN where one of them is NaN or
// infinitely large.
void to_log_probabilities(std::span<float> outputs);

// Of one sentence. Each step ranks all continuations of the open hypotheses by their sums. Of the
// `beam` best, those that end are finished; the best that do not end are kept, `beam` of
// them again. Of equals the one of the better hypothesis comes first, then the lower token.
class BeamSearch {
 public:
  explicit BeamSearch(const SearchRules& rules);

  // `beam` many are finished, or no open hypothesis can become better than the best finished one,
  // or none is open.
  bool done() const { return done_; }
  // What the next log-probabilities are wanted of, the best first; all are of one length.
  std::span<const Hypothesis> open() const { return open_; }
  // Of each open hypothesis, over all tokens. One that is not finite is not chosen.
  void advance(std::span<const std::span<const float>> log_probabilities);

  // The best finished one, of equals the first. Null where nothing was ever finite.
  const Hypothesis* best() const;

 private:
  struct Candidate;
  std::vector<Candidate> rank(std::span<const std::span<const float>> log_probabilities) const;
  void finish(Hypothesis hypothesis, std::int64_t length);
  double penalty(std::int64_t length) const;
  bool is_over() const;

  SearchRules rules_;
  std::vector<Hypothesis> open_, finished_;
  bool done_ = false;
};

}  // namespace pipetrain
