#include "decode/next_token.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pipetrain {
namespace {

struct Candidate {
  std::int32_t token = 0;
  double output = 0;
};

// Orders the most likely first.
bool before(const Candidate& a, const Candidate& b) {
  return a.output != b.output ? a.output > b.output : a.token < b.token;
}

std::vector<Candidate> candidates(std::span<const float> outputs, std::int64_t most) {
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (std::isfinite(outputs[i])) found.push_back({static_cast<std::int32_t>(i), outputs[i]});
  const std::int64_t count = std::min<std::int64_t>(most, std::ssize(found));
  std::partial_sort(found.begin(), found.begin() + count, found.end(), before);
  found.resize(count);
  return found;
}

}  // namespace

std::int32_t next_token(std::span<const float> outputs, const Sampling& sampling, Random& random) {
  const bool greedy = sampling.temperature == 0;
  const std::int64_t all = std::ssize(outputs);
  const std::vector<Candidate> found = candidates(outputs, greedy               ? 1
                                                           : sampling.top_k > 0 ? sampling.top_k
                                                                                : all);
  if (found.empty()) return -1;
  if (greedy) return found[0].token;
  std::vector<double> shares;
  double total = 0;
  for (const Candidate& candidate : found) {
    total += std::exp((candidate.output - found[0].output) / sampling.temperature);
    shares.push_back(total);
  }
  const double drawn = random.uniform() * total;
  const auto at = std::ranges::upper_bound(shares, drawn) - shares.begin();
  return found[std::min(at, std::ssize(found) - 1)].token;
}

}  // namespace pipetrain
