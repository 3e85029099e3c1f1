#include "runtime/step_reports.hpp"

#include <utility>

#include "base/check.hpp"

namespace pipetrain {

StepReports::StepReports(Stream& stream, int parameters, int minibatches, Publish publish)
    : waiting_max_(stream.asynchronous() ? ahead : 0),
      publish_(std::move(publish)),
      ring_(minibatches + waiting_max_),
      losses_(stream, ring_.size()),
      sums_(stream, ring_.size() * static_cast<std::size_t>(parameters)) {
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    ring_[i].loss = losses_.data() + i;
    ring_[i].sums_of_squares = {sums_.data() + i * static_cast<std::size_t>(parameters),
                                static_cast<std::size_t>(parameters)};
  }
}

StepReport& StepReports::of(std::int64_t step) {
  StepReport& report = slot(step);
  PIPETRAIN_CHECK(!report.handed_in, "mini-batch {} has been reported", step);
  report.step = step;
  return report;
}

void StepReports::hand_in(StepReport& report, StreamClock& clock) {
  report.lap = clock.lap();
  report.handed_in = true;
  if (waiting_++ == 0) oldest_ = report.step;
  while (waiting_ > 0 && (waiting_ > waiting_max_ || slot(oldest_).lap.passed()))
    publish_oldest(clock);
}

void StepReports::finish(StreamClock& clock) {
  while (waiting_ > 0) publish_oldest(clock);
}

void StepReports::publish_oldest(StreamClock& clock) {
  StepReport& report = slot(oldest_);
  if (!report.lap.passed()) report.lap.wait();
  const StreamClock::Times times = clock.read(std::move(report.lap));
  report.measured.busy_seconds = times.busy_seconds;
  report.measured.waiting_seconds += times.waiting_seconds;
  if (report.measured.end_ns == 0) report.measured.end_ns = times.end_ns;
  report.measured.loss = *report.loss;
  publish_(report);
  *report.loss = {};
  report.measured = {};
  report.deposits = report.handed_in = false;
  // The next one that was handed in: each copy of a stage may report on only some mini-batches.
  if (--waiting_ > 0)
    while (!slot(++oldest_).handed_in) {
    }
}

}  // namespace pipetrain
