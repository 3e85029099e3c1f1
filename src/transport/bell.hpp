// How a thread of one process waits for a thread of another, in memory that both see. A side that
// changes something rings; a side that waits sleeps until it is rung. The wait costs no processor,
// and where nobody waits a ring is no system call.
//
// Threading: one thread waits; any thread rings.
#pragma once

#include <atomic>
#include <cstdint>

namespace pipetrain {

class Bell {
 public:
  void ring() noexcept;
  // Returns once there(), which only somebody who rings makes true.
  void wait_until(const auto& there) {
    for (;;) {
      waiting_ = 1;
      const std::uint32_t seen = rung_;
      const bool done = there();
      if (!done) sleep(seen);
      waiting_ = 0;
      if (done) return;
    }
  }

 private:
  void sleep(std::uint32_t seen) noexcept;  // returns at once if it has been rung since `seen`

  std::atomic<std::uint32_t> rung_ = 0, waiting_ = 0;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

}  // namespace pipetrain
