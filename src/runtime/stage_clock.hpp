// Where a stage's time goes: at work on its stream, or waiting for other workers. It goes to the
// trace as it happens, and to the report of the mini-batch after its update.
//
// Threading: used by one worker.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "metrics/trace.hpp"
#include "runtime/step_board.hpp"
#include "runtime/stream_clock.hpp"

namespace pipetrain {

class StageClock {
 public:
  // `trace` null: nothing is traced.
  StageClock(Stream& stream, TraceTrack* trace) : stream_(stream), clock_(stream), trace_(trace) {}

  TraceTrack* trace() const { return trace_; }
  StreamClock& clock() { return clock_; }
  StageStep& measured() { return measured_; }  // since the last update

  // Returns what `wait` returns, which must be a value that outlives the call.
  template <class Wait>
  auto waiting(const Wait& wait);
  template <class Work>
  void busy(const Work& work);

 private:
  Stream& stream_;
  StreamClock clock_;
  TraceTrack* const trace_;
  StageStep measured_;
};

template <class Wait>
auto StageClock::waiting(const Wait& wait) {
  const std::int64_t start = now_ns();
  auto result = wait();
  const std::int64_t end = now_ns();
  // While the host waits, a device may be at work.
  if (!stream_.asynchronous()) measured_.waiting_seconds += static_cast<double>(end - start) * 1e-9;
  if (trace_) trace_->waited(start, end);
  return result;
}

template <class Work>
void StageClock::busy(const Work& work) {
  clock_.time(work);
  // Traced instructions are finished one by one, so that their slices show how long each takes.
  if (trace_ && trace_->traced() && stream_.asynchronous()) stream_.finish();
}

}  // namespace pipetrain
