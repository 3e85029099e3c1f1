// The value that a given share of a sample is below.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace pipetrain {

// Share 0: the smallest; 1: the largest; 0.5: the median, of an even number of values the larger of
// the two in the middle. 0 for no values.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace pipetrain
