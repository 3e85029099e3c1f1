// What is in flight between stages during a walk through an order: for each channel (boundary,
// kind, pair of workers) the times of its packets, first in, first out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// A queue of times; grows and never shrinks. Most channels have few packets in flight, and these
// need no memory of their own.
class TimeQueue {
 public:
  bool empty() const { return count_ == 0; }
  void push(double time) {
    if (count_ > last_) grow();
    times()[(first_ + count_++) & last_] = time;
  }
  double pop() {
    const double time = times()[first_];
    // Starts again at the beginning, so that a long queue that has become short stays in the cache.
    first_ = --count_ == 0 ? 0 : (first_ + 1) & last_;
    return time;
  }

 private:
  double* times() { return many_ ? many_.get() : few_; }
  void grow() {
    const std::uint32_t count = count_, room = 2 * (last_ + 1);
    auto larger = std::make_unique<double[]>(room);
    for (std::uint32_t i = 0; i < count; ++i) larger[i] = pop();
    many_ = std::move(larger);
    first_ = 0;
    count_ = count;
    last_ = room - 1;
  }

  double few_[4] = {};
  std::unique_ptr<double[]> many_;                  // replaces few_ when that is full
  std::uint32_t first_ = 0, count_ = 0, last_ = 3;  // last_ + 1: the room, a power of two
};

struct Packets {
  TimeQueue times;     // of arrival; if transfers occupy workers, of the end that is ready first
  double free_at = 0;  // the end of the last transfer
  int waiting = -1;    // the worker that waits for a packet or for the other end; -1: none
};

// Numbers the channels of an order.
class ChannelTable {
 public:
  explicit ChannelTable(const ProgramShape& shape) {
    for (StageId s{0}; s.value < shape.stages; ++s.value) copies_.push_back(shape.copies_of(s));
    per_turn_ = shape.whole_minibatches ? shape.microbatches : 1;
    turns_ = shape.whole_minibatches ? std::numeric_limits<int>::max() : shape.microbatches;
    const bool alike =
        std::ranges::all_of(copies_, [&](int copies) { return copies == copies_[0]; });
    common_ = alike ? copies_[0] : 0;
    for (std::size_t b = 0; b + 1 < copies_.size(); ++b) {
      first_.push_back(count_);
      count_ += alike ? common_ : copies_[b] * copies_[b + 1];
    }
  }
  // The channel in which `microbatch` crosses the boundary after stage `boundary`: there is one for
  // each pair of copies that meet.
  std::size_t index(int boundary, bool gradient, int microbatch) const {
    if (common_ == 1) return static_cast<std::size_t>(2 * boundary + gradient);
    const int turn = microbatch / per_turn_ % turns_;  // as in ProgramShape::copy_of
    if (common_ > 1)
      return static_cast<std::size_t>(2 * (boundary * common_ + turn % common_) + gradient);
    const auto b = static_cast<std::size_t>(boundary);
    const int pair = turn % copies_[b] * copies_[b + 1] + turn % copies_[b + 1];
    return static_cast<std::size_t>(2 * (first_[b] + pair) + gradient);
  }
  std::size_t size() const { return static_cast<std::size_t>(2 * count_); }

 private:
  int common_ = 1;  // copies of each stage; 0: stages have different numbers of copies
  int count_ = 0;
  int per_turn_ = 1, turns_ = 1;
  std::vector<int> copies_, first_;
};

}  // namespace pipetrain
