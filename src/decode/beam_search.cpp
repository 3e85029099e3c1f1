#include "decode/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace pipetrain {

void to_log_probabilities(std::span<float> outputs) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float x : outputs) largest = std::max(largest, x);
  double sum = 0;
  for (const float x : outputs) sum += std::exp(x - largest);
  const double log_sum = std::log(sum);
  for (float& x : outputs) x = static_cast<float>(x - largest - log_sum);
}

struct BeamSearch::Candidate {
  double log_probability = 0;
  std::size_t hypothesis = 0;
  std::int32_t token = 0;
  // Does it rank before `other`?
  bool operator<(const Candidate& other) const {
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return std::pair(hypothesis, token) < std::pair(other.hypothesis, other.token);
  }
};

BeamSearch::BeamSearch(const SearchRules& rules) : rules_(rules), open_(1) {
  PIPETRAIN_CHECK(rules.beam > 0 && rules.longest > 0 && rules.length_penalty >= 0,
                  "a beam of {}, {} tokens, a penalty of {}", rules.beam, rules.longest,
                  rules.length_penalty);
}

double BeamSearch::penalty(std::int64_t length) const {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, rules_.length_penalty);
}

// Ranks twice as many as stay open: each hypothesis ends at most once, so at least `beam` do not
// end.
std::vector<BeamSearch::Candidate> BeamSearch::rank(
    std::span<const std::span<const float>> log_probabilities) const {
  const std::size_t most = 2 * static_cast<std::size_t>(rules_.beam);
  std::vector<Candidate> best;
  for (std::size_t h = 0; h < open_.size(); ++h)
    for (std::size_t t = 0; t < log_probabilities[h].size(); ++t) {
      const double sum = open_[h].log_probability + log_probabilities[h][t];
      const bool full = best.size() == most;
      if (full && sum <= best.back().log_probability) continue;  // nearly all; equals come later
      const auto token = static_cast<std::int32_t>(t);
      if (!std::isfinite(sum) || std::ranges::count(rules_.never, token) > 0) continue;
      if (full) best.pop_back();
      const Candidate candidate{sum, h, token};
      best.insert(std::ranges::upper_bound(best, candidate, std::less<>()), candidate);
    }
  return best;
}

void BeamSearch::advance(std::span<const std::span<const float>> log_probabilities) {
  PIPETRAIN_CHECK(!done_ && log_probabilities.size() == open_.size(), "{} rows for {} hypotheses",
                  log_probabilities.size(), open_.size());
  const auto beam = static_cast<std::size_t>(rules_.beam);
  const std::int64_t length = std::ssize(open_[0].tokens) + 1;
  const std::vector<Candidate> ranked = rank(log_probabilities);
  std::vector<Hypothesis> next;
  for (std::size_t i = 0; i < ranked.size() && next.size() < beam; ++i) {
    const Candidate& candidate = ranked[i];
    if (candidate.token == rules_.end && i >= beam) continue;
    Hypothesis longer = open_[candidate.hypothesis];
    longer.parent = candidate.hypothesis;
    longer.log_probability = candidate.log_probability;
    if (candidate.token == rules_.end) {
      finish(std::move(longer), length);
    } else {
      longer.tokens.push_back(candidate.token);
      next.push_back(std::move(longer));
    }
  }
  open_ = std::move(next);
  if (length == rules_.longest) {
    for (Hypothesis& hypothesis : open_) finish(std::move(hypothesis), length);
    open_.clear();
  }
  done_ = is_over();
  if (done_) open_.clear();
}

void BeamSearch::finish(Hypothesis hypothesis, std::int64_t length) {
  hypothesis.score = hypothesis.log_probability / penalty(length);
  finished_.push_back(std::move(hypothesis));
}

// A sum can only fall, and the longest hypothesis is divided by the largest penalty.
bool BeamSearch::is_over() const {
  if (open_.empty() || finished_.size() >= static_cast<std::size_t>(rules_.beam)) return true;
  const Hypothesis* const finished = best();
  return finished && open_[0].log_probability / penalty(rules_.longest) <= finished->score;
}

const Hypothesis* BeamSearch::best() const {
  const auto best = std::ranges::max_element(finished_, {}, &Hypothesis::score);
  return best == finished_.end() ? nullptr : &*best;
}

}  // namespace pipetrain
