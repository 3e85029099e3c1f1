#include "metrics/trace.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "program/text.hpp"
#include "program/trace_events.hpp"

namespace pipetrain {
namespace {

enum Row { Compute, Send, Receive, Updates };  // the tracks of a stage
constexpr std::array row_names = {"compute", "send", "receive", "update"};

// An instruction waits for at most a packet and the loader.
constexpr std::size_t records_per_instruction = 3;

Row row_of(Op op) {
  if (computes(op)) return Compute;
  if (is_send(op)) return Send;
  if (is_receive(op) || op == Op::LoadInput) return Receive;
  return Updates;
}

TraceTrackId place_of(const TraceRecord& r) {
  return {.group = r.instruction->stage.value, .track = row_of(r.instruction->op)};
}

// As in the program's text, less the stage, which the track tells.
std::string name_of(const Instruction& i) {
  return fmt::format("{}{}", letters(i.op), i.microbatch.value);
}

nlohmann::ordered_json args_of(const TraceRecord& r, int microbatches) {
  const Instruction& i = *r.instruction;
  nlohmann::ordered_json args = {{"step", r.step},
                                 {"microbatch", i.microbatch.value % microbatches},
                                 {"instruction", to_text(i)}};
  if (reads_weights(i.op) || i.op == Op::Update) args["version"] = i.weights.version.value;
  return args;
}

// Finds the instruction of a stage that has to do with a micro-batch of a step.
class Index {
 public:
  explicit Index(const std::vector<TraceTrack>& tracks) {
    for (const TraceTrack& track : tracks)
      for (const TraceRecord& r : track.records())
        if (!r.waiting) records_[key(r.instruction->op, r.instruction->stage.value, r)] = &r;
  }
  const TraceRecord* find(Op op, int stage, const TraceRecord& same) const {
    const auto found = records_.find(key(op, stage, same));
    return found == records_.end() ? nullptr : found->second;
  }

 private:
  using Key = std::tuple<Op, int, std::int64_t, int>;
  static Key key(Op op, int stage, const TraceRecord& r) {
    return {op, stage, r.step, r.instruction->microbatch.value};
  }
  std::map<Key, const TraceRecord*> records_;
};

// What a send leads to: the receive of the neighbour, and what reads it there.
struct Crossing {
  std::string_view name;
  const TraceRecord *receive = nullptr, *reader = nullptr;
};

Crossing crossing_of(const Index& index, const TraceRecord& send) {
  const int stage = send.instruction->stage.value;
  if (send.instruction->op == Op::SendActivation)
    return {"activation", index.find(Op::ReceiveActivation, stage + 1, send),
            index.find(Op::Forward, stage + 1, send)};
  const TraceRecord* whole = index.find(Op::Backward, stage - 1, send);
  return {"gradient", index.find(Op::ReceiveGradient, stage - 1, send),
          whole ? whole : index.find(Op::BackwardInput, stage - 1, send)};
}

bool is_shown(const TraceRecord& r) {
  constexpr std::int64_t shortest_wait_ns = 1000;
  if (!r.waiting) return true;
  return !is_receive(r.instruction->op) && r.end_ns - r.begin_ns >= shortest_wait_ns;
}

double since(std::int64_t origin_ns, std::int64_t ns) {
  return static_cast<double>(ns - origin_ns) / 1000;
}

// Times of arrows must rise and lie within their slices, so that of the receive is in the middle of
// where both have begun.
void add_arrow(TraceEvents& events, const Index& index, const TraceRecord& send, std::int64_t id,
               std::int64_t origin_ns) {
  const auto [name, receive, reader] = crossing_of(index, send);
  if (!receive) return;
  const std::int64_t both = std::max(send.begin_ns, receive->begin_ns);
  const std::int64_t passed = both + (receive->end_ns - both) / 2;
  events.add(Arrow::Begins, name, id, place_of(send), since(origin_ns, send.begin_ns));
  events.add(reader ? Arrow::Passes : Arrow::Ends, name, id, place_of(*receive),
             since(origin_ns, passed));
  if (reader)
    events.add(Arrow::Ends, name, id, place_of(*reader), since(origin_ns, reader->begin_ns));
}

}  // namespace

TraceTrack::TraceTrack(const StepRange& steps, std::size_t instructions) : steps_(steps) {
  records_.reserve(instructions * records_per_instruction);
}

void TraceTrack::record(std::int64_t begin_ns, std::int64_t end_ns, bool waiting) {
  PIPETRAIN_CHECK(records_.size() < records_.capacity(), "more is traced than was reckoned with");
  TraceRecord& r = records_.emplace_back(open_);
  r.begin_ns = begin_ns;
  r.end_ns = end_ns;
  r.waiting = waiting;
}

Trace::Trace(const StepRange& steps, const Program& program)
    : steps_(steps), microbatches_(program.microbatches) {
  const auto repeats =
      static_cast<std::size_t>((steps.last - steps.first) / program.minibatches + 2);
  std::vector<std::size_t> instructions(static_cast<std::size_t>(program.stages));
  for (const auto& worker : program.workers)
    for (const Instruction& i : worker) ++instructions[static_cast<std::size_t>(i.stage.value)];
  for (const std::size_t count : instructions) tracks_.emplace_back(steps, count * repeats);
}

bool Trace::empty() const {
  return std::ranges::all_of(tracks_, [](const TraceTrack& t) { return t.records().empty(); });
}

std::string Trace::text() const {
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const TraceTrack& track : tracks_)
    for (const TraceRecord& r : track.records()) origin_ns = std::min(origin_ns, r.begin_ns);

  TraceEvents events;
  for (int stage = 0; stage < static_cast<int>(tracks_.size()); ++stage) {
    events.name_group(stage, fmt::format("stage {}", stage));
    for (int row = 0; row < static_cast<int>(row_names.size()); ++row)
      events.name_track({.group = stage, .track = row}, row_names[static_cast<std::size_t>(row)]);
  }
  const Index index(tracks_);
  std::int64_t arrow = 0;
  for (const TraceTrack& track : tracks_)
    for (const TraceRecord& r : track.records())
      if (is_shown(r))
        events.add({.on = place_of(r),
                    .name = r.waiting ? "waiting" : name_of(*r.instruction),
                    .category = r.waiting ? "waiting" : op_name(r.instruction->op),
                    .start_us = since(origin_ns, r.begin_ns),
                    .duration_us = static_cast<double>(r.end_ns - r.begin_ns) / 1000,
                    .args = args_of(r, microbatches_)});
  for (const TraceTrack& track : tracks_)
    for (const TraceRecord& r : track.records())
      if (!r.waiting && is_send(r.instruction->op)) add_arrow(events, index, r, ++arrow, origin_ns);
  return events.text();
}

}  // namespace pipetrain
