#include "base/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace pipetrain {
namespace {

// Edits (insert, remove, replace, swap of neighbours) that make one word the other: the
// optimal-string-alignment distance, over three rows of its table.
std::size_t edits(std::string_view a, std::string_view b) {
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

}  // namespace

std::string suggest(std::string_view word, std::span<const std::string_view> known) {
  std::size_t nearest =
      std::max<std::size_t>(1, word.size() / 3) + 1;  // further is no typing error
  std::string_view best;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edits(word, candidate);
    if (distance < nearest && distance < candidate.size()) {
      nearest = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

}  // namespace pipetrain
