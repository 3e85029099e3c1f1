// When messages are due over links of a given rate (base/link_rate.hpp), and how to wait for that
// without using a core.
//
// Threading: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/clock.hpp"

namespace pipetrain {

class LinkClock {
 public:
  explicit LinkClock(std::function<std::int64_t()> now = now_ns) : now_(std::move(now)) {}

  std::int64_t now() const { return now_(); }

  // From here on, everything is delivered at once as soon as *drain is true: the end of a run does
  // not wait for links. Null: never. `drain` must stay valid until the next call.
  void hurry_once(const std::atomic<bool>* drain) { drain_ = drain; }
  bool hurries() const {
    const std::atomic<bool>* const drain = drain_;
    return drain && *drain;
  }
  bool is_due(std::int64_t due_ns) const { return now() >= due_ns || hurries(); }

  // `changed` must be notified when over() becomes true.
  template <class Over>
  void wait_until(std::int64_t due_ns, std::unique_lock<std::mutex>& lock,
                  std::condition_variable& changed, const Over& over) const {
    constexpr std::int64_t look_ns = 20'000'000;  // how often to check for a drain
    wake_on_time();
    while (!over() && !is_due(due_ns))
      changed.wait_for(lock, std::chrono::nanoseconds(std::min(due_ns - now(), look_ns)));
  }

 private:
  static void wake_on_time();  // for the calling thread's sleeps, from here on

  std::function<std::int64_t()> now_;
  std::atomic<const std::atomic<bool>*> drain_ = nullptr;
};

}  // namespace pipetrain
