// A timeline in the Trace Event Format of Chrome's about:tracing, which Perfetto reads: slices on
// tracks ("threads"), tracks in groups ("processes"), and arrows from slice to slice. Times are in
// microseconds; slices of one track nest or do not overlap.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pipetrain {

struct TraceTrackId {
  int group = 0, track = 0;
};

// What an arrow does at a slice: it begins at one, passes through others and ends at the last.
enum class Arrow { Begins, Passes, Ends };

class TraceEvents {
 public:
  struct Slice {
    TraceTrackId on;
    std::string name;
    std::string_view category;
    double start_us = 0, duration_us = 0;
    nlohmann::ordered_json args;  // an object, or null
  };

  void name_group(int group, const std::string& name);
  void name_track(TraceTrackId id, const std::string& name);  // shown in the order of numbers
  void add(const Slice& slice);
  // At a time within a slice that was added before; `arrow` is the number of the whole arrow.
  void add(Arrow what, std::string_view name, std::int64_t arrow, TraceTrackId on, double at_us);

  std::string text() const;  // the whole JSON document

 private:
  nlohmann::ordered_json events_ = nlohmann::ordered_json::array();
};

}  // namespace pipetrain
