#include "runtime/stream_clock.hpp"

#include <algorithm>
#include <utility>

namespace pipetrain {

StreamClock::StreamClock(Stream& stream) : stream_(stream) {
  if (!stream.asynchronous()) return;
  lap_before_ = recorded();
  lap_before_->wait();
  lap_before_ns_ = now_ns();
}

std::unique_ptr<Fence> StreamClock::recorded() {
  std::unique_ptr<Fence> fence;
  if (spare_.empty()) {
    fence = stream_.make_timed_fence();
  } else {
    fence = std::move(spare_.back());
    spare_.pop_back();
  }
  stream_.record(*fence);
  return fence;
}

StreamClock::Lap StreamClock::lap() {
  if (stream_.asynchronous()) lap_.end = recorded();
  return std::exchange(lap_, {});
}

StreamClock::Times StreamClock::read(Lap&& lap) {
  if (!lap.end) return {.busy_seconds = lap.host_seconds, .end_ns = now_ns()};
  Times times;
  for (Lap::Interval& interval : lap.intervals) {
    times.busy_seconds += stream_.seconds_between(*interval.begin, *interval.end);
    spare_.push_back(std::move(interval.begin));
    spare_.push_back(std::move(interval.end));
  }
  const double all = stream_.seconds_between(*lap_before_, *lap.end);
  times.waiting_seconds = std::max(0.0, all - times.busy_seconds);
  times.end_ns = lap_before_ns_ += static_cast<std::int64_t>(all * 1e9);
  spare_.push_back(std::exchange(lap_before_, std::move(lap.end)));
  return times;
}

}  // namespace pipetrain
