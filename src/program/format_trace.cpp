// A simulated timeline for Chrome's about:tracing and Perfetto: one track per worker, or two if
// what it does may overlap. One unit of time is shown as a millisecond.
#include "program/format.hpp"
#include "program/text.hpp"
#include "program/trace_events.hpp"

namespace pipetrain {
namespace {

// Which of a worker's tracks: slices of one track do not overlap. Transfers that occupy workers run
// in pairs, a send and a receive.
int track_of(const Timeline& timeline, Op op) {
  if (timeline.charges == Charges::Workers) return is_send(op) ? 1 : 0;
  if (op == Op::LoadInput || op == Op::ReceiveActivation || op == Op::SendActivation) return 0;
  return row_of(timeline, op);
}

std::string track_name(const ScheduleView& view, std::size_t worker, int track) {
  if (view.timeline.charges != Charges::Workers)
    return row_name(view.program, view.timeline, worker, track);
  return row_name(view.program, view.timeline, worker, 0) + (track == 0 ? "" : ", sends");
}

}  // namespace

std::string format_trace(const ScheduleView& view) {
  constexpr double microseconds = 1000;
  const int tracks = view.timeline.charges == Charges::Channels ? 1 : 2;
  TraceEvents events;
  events.name_group(0, view.title);
  for (std::size_t w = 0; w < view.program.workers.size(); ++w) {
    const auto track = [&](int number) {
      return TraceTrackId{.group = 0, .track = static_cast<int>(w) * tracks + number};
    };
    for (int t = 0; t < tracks; ++t) events.name_track(track(t), track_name(view, w, t));
    for (std::size_t at = 0; at < view.program.workers[w].size(); ++at) {
      const Instruction& i = view.program.workers[w][at];
      const Span& span = view.timeline.spans[w][at];
      events.add({.on = track(track_of(view.timeline, i.op)),
                  .name = short_text(i),
                  .category = op_name(i.op),
                  .start_us = span.start * microseconds,
                  .duration_us = (span.end - span.start) * microseconds,
                  .args = {{"instruction", to_text(i)},
                           {"minibatch", view.program.minibatch_of(i.microbatch).value}}});
    }
  }
  return events.text();
}

}  // namespace pipetrain
