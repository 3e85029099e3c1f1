// Beam search for the sequence to which a model gives the highest probability, token by token
// (Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", NIPS 2014,
// section 3.2), with the length penalty of Wu et al., "Google's neural machine translation system",
// arXiv 1609.08144, equation 14. Knows nothing of models: it is given log-probabilities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pipetrain {

struct SearchRules {
  int beam = 1;               // hypotheses kept at each step; 1: greedy
  double length_penalty = 0;  // alpha in equation 14, at least 0; 0: only the sum counts
  std::int64_t longest = 1;   // in tokens, with the end; hypotheses that long count as finished
  std::int32_t end = 0;
  std::vector<std::int32_t> never = {};  // tokens that must not be produced
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // without the end
  std::size_t parent = 0;            // which of the previously open ones it continues
  double log_probability = 0;        // of the tokens, and of the end if it has ended
  double score = 0;  // finished: log_probability / ((5 + |Y|) / 6)^alpha, |Y| with the end
};

// Turns a model's outputs for one position into log-probabilities (log-softmax), in place. All
// become NaN if one is NaN or positive infinity.
void to_log_probabilities(std::span<float> outputs);

// For one sentence. Each step ranks all continuations of the open hypotheses by their sums. Those
// among the `beam` best that end are finished; the best that do not end, again `beam` of them, stay
// open. Ties go to the continuation of the better hypothesis, then to the lower token.
class BeamSearch {
 public:
  explicit BeamSearch(const SearchRules& rules);

  // `beam` hypotheses are finished, or no open one can become better than the best finished one, or
  // none is open.
  bool done() const { return done_; }
  // The hypotheses that need log-probabilities next, the best first; all have the same length.
  std::span<const Hypothesis> open() const { return open_; }
  // One span per open hypothesis, over all tokens. Values that are not finite are never chosen.
  void advance(std::span<const std::span<const float>> log_probabilities);

  // The best finished one; the first of several equals. Null if nothing was ever finite.
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
