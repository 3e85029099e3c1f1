// A stage's reports of its mini-batches, on their way to the step board: what its stream leaves for
// them (losses, sums of squares), and how long it was at work.
//
// A host's stream has finished its work by then, and its report is published at once. A device's
// stream is behind: reports wait in a ring until their fence has passed, and the worker is at most
// `ahead` mini-batches ahead of its device.
//
// Threading: used by one worker.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/step_board.hpp"
#include "runtime/stream_clock.hpp"
#include "stage/results.hpp"

namespace pipetrain {

struct StepReport {
  std::int64_t step = -1;  // from 0 since training began
  LossResult* loss = nullptr;
  std::span<double> sums_of_squares;  // per parameter of the stage
  bool deposits = false;              // the sums have not been left at the board yet
  double lr = 0;
  StageStep measured;

  StreamClock::Lap lap;
  bool handed_in = false;
};

class StepReports {
 public:
  using Publish = std::function<void(const StepReport&)>;
  static constexpr int ahead = 4;

  // `minibatches`: how many are open at once.
  StepReports(Stream& stream, int parameters, int minibatches, Publish publish);

  StepReport& of(std::int64_t step);  // not handed in yet
  void hand_in(StepReport& report, StreamClock& clock);
  void finish(StreamClock& clock);  // waits until everything handed in is published

 private:
  void publish_oldest(StreamClock& clock);
  StepReport& slot(std::int64_t step) {
    return ring_[static_cast<std::size_t>(step) % ring_.size()];
  }

  const int waiting_max_;
  Publish publish_;
  std::vector<StepReport> ring_;
  Results<LossResult> losses_;
  Results<double> sums_;
  std::int64_t oldest_ = 0;  // handed in and not published yet
  int waiting_ = 0;
};

}  // namespace pipetrain
