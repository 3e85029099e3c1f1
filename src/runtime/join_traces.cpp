#include "runtime/join_traces.hpp"

#include <chrono>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace pipetrain {
namespace {

static_assert(std::is_trivially_copyable_v<TraceRecord>);

// What this host's wall clock adds to its steady clock, which is the same for all its processes. Of
// several readings it takes the one during which the thread was interrupted least.
std::int64_t wall_clock_ahead_ns() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::system_clock;
  std::int64_t ahead = 0, shortest = std::numeric_limits<std::int64_t>::max();
  for (int reading = 0; reading < 8; ++reading) {
    const std::int64_t begin = now_ns();
    const auto wall = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    const std::int64_t took = now_ns() - begin;
    if (took >= shortest) continue;
    shortest = took;
    ahead = wall - (begin + took / 2);
  }
  return ahead;
}

Note trace_note(const std::vector<TraceRecord>& records) {
  const std::int64_t ahead = wall_clock_ahead_ns();
  Note note(sizeof ahead + records.size() * sizeof(TraceRecord));
  std::memcpy(note.data(), &ahead, sizeof ahead);
  if (!records.empty())
    std::memcpy(note.data() + sizeof ahead, records.data(), note.size() - sizeof ahead);
  return note;
}

void add_trace(Trace& trace, const Note& note) {
  std::int64_t ahead = 0;
  const std::size_t bytes = note.size() - sizeof ahead;
  PIPETRAIN_CHECK(note.size() >= sizeof ahead && bytes % sizeof(TraceRecord) == 0,
                  "a trace of {} bytes", note.size());
  std::memcpy(&ahead, note.data(), sizeof ahead);
  std::vector<TraceRecord> records(bytes / sizeof(TraceRecord));
  if (bytes > 0) std::memcpy(records.data(), note.data() + sizeof ahead, bytes);
  trace.add(records, ahead - wall_clock_ahead_ns());
}

}  // namespace

void join_traces(Job& job, Trace& trace, std::int64_t first, std::int64_t end) {
  const StepRange& steps = trace.steps();  // from 1
  if (first >= steps.last || end < steps.first) return;
  if (!job.leads()) return job.notes().send(0, Topic::Trace, trace_note(trace.take()));
  for (int rank = 1; rank < job.size(); ++rank)
    add_trace(trace, job.notes().take(Topic::Trace, rank));
  if (end >= steps.last) trace.set_whole(true);
}

}  // namespace pipetrain
