#include "program/trace_events.hpp"

namespace pipetrain {

void TraceEvents::name_group(int group, const std::string& name) {
  events_.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", group}, {"args", {{"name", name}}}});
  events_.push_back({{"name", "process_sort_index"},
                     {"ph", "M"},
                     {"pid", group},
                     {"args", {{"sort_index", group}}}});
}

void TraceEvents::name_track(TraceTrackId id, const std::string& name) {
  events_.push_back({{"name", "thread_name"},
                     {"ph", "M"},
                     {"pid", id.group},
                     {"tid", id.track},
                     {"args", {{"name", name}}}});
  events_.push_back({{"name", "thread_sort_index"},
                     {"ph", "M"},
                     {"pid", id.group},
                     {"tid", id.track},
                     {"args", {{"sort_index", id.track}}}});
}

void TraceEvents::add(const Slice& slice) {
  events_.push_back({{"name", slice.name},
                     {"cat", slice.category},
                     {"ph", "X"},
                     {"pid", slice.on.group},
                     {"tid", slice.on.track},
                     {"ts", slice.start_us},
                     {"dur", slice.duration_us}});
  if (!slice.args.is_null()) events_.back()["args"] = slice.args;
}

void TraceEvents::add(Arrow what, std::string_view name, std::int64_t arrow, TraceTrackId on,
                      double at_us) {
  constexpr const char* phases[] = {"s", "t", "f"};
  events_.push_back({{"name", name},
                     {"cat", "micro-batch"},
                     {"ph", phases[static_cast<int>(what)]},
                     {"id", arrow},
                     {"pid", on.group},
                     {"tid", on.track},
                     {"ts", at_us}});
  // Without "bp", an end belongs to the next slice that begins there.
  if (what == Arrow::Ends) events_.back()["bp"] = "e";
}

std::string TraceEvents::text() const {
  return nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}.dump() + "\n";
}

}  // namespace pipetrain
