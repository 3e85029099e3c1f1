// The Trace Event Format of Chrome's about:tracing, which Perfetto reads: complete events ("X"),
// one thread per worker. One unit of time is shown as a millisecond.
#include <nlohmann/json.hpp>

#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {

std::string format_trace(const ScheduleView& view) {
  constexpr double microseconds = 1000;
  auto events = nlohmann::ordered_json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", view.title}}}});
  for (std::size_t w = 0; w < view.program.workers.size(); ++w) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", w},
                      {"args", {{"name", row_name(view.program, w)}}}});
    for (std::size_t at = 0; at < view.program.workers[w].size(); ++at) {
      const auto& i = view.program.workers[w][at];
      const auto& span = view.timeline.spans[w][at];
      events.push_back({{"name", short_text(i)},
                        {"cat", op_name(i.op)},
                        {"ph", "X"},
                        {"pid", 0},
                        {"tid", w},
                        {"ts", span.start * microseconds},
                        {"dur", (span.end - span.start) * microseconds},
                        {"args",
                         {{"instruction", to_text(i)},
                          {"minibatch", view.program.minibatch_of(i.microbatch).value}}}});
    }
  }
  nlohmann::ordered_json document{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return document.dump() + "\n";
}

}  // namespace pipetrain
