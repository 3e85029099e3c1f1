// When a ring all-reduce over links of a given rate is done, and how to wait for it.
//
// Threading: the caller holds its owner's lock in every call.
#pragma once

#include <cmath>

#include "base/link_rate.hpp"
#include "transport/link_clock.hpp"

namespace pipetrain {

class LinkSum {
 public:
  LinkSum(const LinkRate& rate, const LinkClock& clock) : rate_(rate), clock_(&clock) {}

  const LinkRate& rate() const { return rate_; }
  void begin(double seconds) { due_ns_ = clock_->now() + std::llround(seconds * 1e9); }
  // `changed` must be notified when over() becomes true.
  template <class Over>
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            const Over& over) const {
    clock_->wait_until(due_ns_, lock, changed, over);
  }

 private:
  LinkRate rate_;
  const LinkClock* clock_;
  std::int64_t due_ns_ = 0;
};

}  // namespace pipetrain
