// The table of sinusoidal positions (Vaswani et al. 2017, section 3.5): sin(t / 10000^(2i / C)) at
// 2i and the cosine of the same at 2i + 1. Row t does not depend on a sequence's length, so kernels
// for sequences of all lengths share the rows of each width C.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace pipetrain::cpu {

struct SinusoidTable {
  static constexpr std::int64_t kPartRows = 64;

  std::int64_t width = 0;
  std::vector<std::shared_ptr<const float[]>> parts = {};  // [kPartRows][width] each

  const float* row(std::int64_t t) const {
    return parts[t / kPartRows].get() + t % kPartRows * width;
  }
};

// Keeps each row that it has computed. Thread-safe.
class Sinusoids {
 public:
  // At least the first `length` rows; they stay where they are while a table has them.
  SinusoidTable table(std::int64_t length, std::int64_t width);

 private:
  std::mutex mutex_;
  std::map<std::int64_t, SinusoidTable> tables_;  // by width, each as long as the longest asked for
};

}  // namespace pipetrain::cpu
