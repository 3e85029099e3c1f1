#include "base/suggest.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace pipetrain {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: a swap looks back over two.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

namespace {

std::string lower_case(std::string_view word) {
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known) {
  constexpr std::size_t longest_word = 64;  // a longer one is no slip, and the table is quadratic
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  const std::string lower = lower_case(word);
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(lower, lower_case(candidate));
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (distance > std::max<std::size_t>(1, longer / 3) || distance >= candidate.size()) continue;
    if (best && distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string suggest(std::string_view word, std::span<const std::string_view> known) {
  const auto best = nearest(word, known);
  return best ? "; did you mean '" + std::string(*best) + "'?" : "";
}

}  // namespace pipetrain
