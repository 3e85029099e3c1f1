// Quantiles of a sample, such as its median.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace pipetrain {

// Share 0 is the smallest value, 1 the largest, 0.5 the median: of an even number of values, the
// larger of the middle two. 0 if there are no values.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace pipetrain
