// What is under way between stages while an order is walked through: for each channel (boundary,
// kind, pair of workers) the times of its packets, first in, first out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// Times in the order in which they came; grows, and never shrinks.
class TimeQueue {
 public:
  bool empty() const { return count_ == 0; }
  void push(double time) {
    if (count_ == ring_.size()) grow();
    ring_[(first_ + count_++) & (ring_.size() - 1)] = time;
  }
  double pop() {
    const double time = ring_[first_];
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
    return time;
  }

 private:
  void grow() {
    std::vector<double> larger(ring_.empty() ? 2 : 2 * ring_.size());
    const std::size_t count = count_;
    for (std::size_t i = 0; i < count; ++i) larger[i] = pop();
    ring_ = std::move(larger);
    first_ = 0;
    count_ = count;
  }

  std::vector<double> ring_;  // its size is a power of two
  std::size_t first_ = 0, count_ = 0;
};

struct Packets {
  TimeQueue times;     // of arrival; where transfers occupy workers, of whoever is ready first
  double free_at = 0;  // the end of the last transfer
  int waiting = -1;    // the worker that waits for a packet or for the other end; -1: nobody
};

// Numbers the channels of an order.
class ChannelTable {
 public:
  explicit ChannelTable(const ProgramShape& shape) {
    for (StageId s{0}; s.value < shape.stages; ++s.value) copies_.push_back(shape.copies_of(s));
    alike_ = std::ranges::all_of(copies_, [&](int copies) { return copies == copies_[0]; });
    for (std::size_t b = 0; b + 1 < copies_.size(); ++b) {
      first_.push_back(count_);
      count_ += alike_ ? copies_[b] : copies_[b] * copies_[b + 1];
    }
  }
  // In which `microbatch` crosses the boundary between stages `boundary` and `boundary` + 1: one
  // for each pair of copies that meet.
  std::size_t index(int boundary, bool gradient, int microbatch) const {
    const auto b = static_cast<std::size_t>(boundary);
    int pair = 0;
    if (!alike_)
      pair = microbatch % copies_[b] * copies_[b + 1] + microbatch % copies_[b + 1];
    else if (copies_[0] > 1)
      pair = microbatch % copies_[0];
    return static_cast<std::size_t>(2 * (first_[b] + pair) + gradient);
  }
  std::size_t size() const { return static_cast<std::size_t>(2 * count_); }

 private:
  bool alike_ = true;  // as many copies of each stage
  int count_ = 0;
  std::vector<int> copies_, first_;
};

}  // namespace pipetrain
