// How long a stage's stream is at work. A host's stream works during the call; a device's work is
// timed by fences before and after it, which are read once they have passed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/stream.hpp"
#include "base/clock.hpp"

namespace pipetrain {

// Threading: used by one worker.
class StreamClock {
 public:
  struct Times {
    double busy_seconds = 0;
    double waiting_seconds = 0;  // the rest since the previous lap; only for devices
    std::int64_t end_ns = 0;     // steady clock
  };
  // What was timed between two calls of lap(). For a device it can be read once it has passed.
  struct Lap {
    struct Interval {
      std::unique_ptr<Fence> begin, end;
    };
    double host_seconds = 0;
    std::vector<Interval> intervals;
    std::unique_ptr<Fence> end;

    bool passed() const { return !end || end->passed(); }
    void wait() const {
      if (end) end->wait();
    }
  };

  explicit StreamClock(Stream& stream);

  template <class Work>
  void time(const Work& work) {
    if (!stream_.asynchronous()) {
      const std::int64_t begin = now_ns();
      work();
      lap_.host_seconds += static_cast<double>(now_ns() - begin) * 1e-9;
      return;
    }
    Lap::Interval interval{recorded(), nullptr};
    work();
    interval.end = recorded();
    lap_.intervals.push_back(std::move(interval));
  }

  Lap lap();
  Times read(Lap&& lap);  // in the order in which laps were made

 private:
  std::unique_ptr<Fence> recorded();

  Stream& stream_;
  Lap lap_;
  std::vector<std::unique_ptr<Fence>> spare_;
  // For a device: the end of the previous lap. Times are reported lap by lap, because one since the
  // beginning would soon be too large for the f32 of milliseconds that it comes in.
  std::unique_ptr<Fence> lap_before_;
  std::int64_t lap_before_ns_ = 0;
};

}  // namespace pipetrain
