// The median time of a training's last steps, to compare with the prediction.
#pragma once

#include <cstddef>
#include <vector>

#include "base/median.hpp"

namespace pipetrain {

class StepMedian {
 public:
  void add(double seconds) {
    if (seconds_.size() < most)
      seconds_.push_back(seconds);
    else
      seconds_[next_++ % most] = seconds;
  }
  double ms() const { return 1e3 * median(seconds_); }  // 0 if there was no step

 private:
  static constexpr std::size_t most = 1000;
  std::vector<double> seconds_;
  std::size_t next_ = 0;
};

}  // namespace pipetrain
