// A simulated timeline for Chrome's about:tracing and Perfetto: one track per worker. One unit of
// time is shown as a millisecond.
#include "program/format.hpp"
#include "program/text.hpp"
#include "program/trace_events.hpp"

namespace pipetrain {

std::string format_trace(const ScheduleView& view) {
  constexpr double microseconds = 1000;
  TraceEvents events;
  events.name_group(0, view.title);
  for (std::size_t w = 0; w < view.program.workers.size(); ++w) {
    const TraceTrackId track{.group = 0, .track = static_cast<int>(w)};
    events.name_track(track, row_name(view.program, w));
    for (std::size_t at = 0; at < view.program.workers[w].size(); ++at) {
      const Instruction& i = view.program.workers[w][at];
      const Span& span = view.timeline.spans[w][at];
      events.add({.on = track,
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
