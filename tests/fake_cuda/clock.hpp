// Vector clocks: how much of each stream's work is known to be done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake_cuda {

class Clock {
 public:
  std::uint32_t of(std::size_t stream) const { return stream < done_.size() ? done_[stream] : 0; }
  void set(std::size_t stream, std::uint32_t count) {
    if (stream >= done_.size()) done_.resize(stream + 1);
    done_[stream] = count;
  }
  void join(const Clock& other) {
    if (other.done_.size() > done_.size()) done_.resize(other.done_.size());
    for (std::size_t i = 0; i < other.done_.size(); ++i)
      done_[i] = std::max(done_[i], other.done_[i]);
  }
  bool covers(const Clock& other) const {
    for (std::size_t i = 0; i < other.done_.size(); ++i)
      if (of(i) < other.done_[i]) return false;
    return true;
  }

 private:
  std::vector<std::uint32_t> done_;
};

}  // namespace fake_cuda
