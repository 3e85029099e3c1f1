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

enum Row { Compute, Send, Receive, Updates };  // of a stage's tracks
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
  return {.group = r.group, .track = row_of(r.instruction.op)};
}

// As in the program's text, without the stage, which the track shows.
std::string name_of(const Instruction& i) {
  return fmt::format("{}{}", letters(i.op), i.microbatch.value);
}

nlohmann::ordered_json args_of(const TraceRecord& r, int microbatches) {
  const Instruction& i = r.instruction;
  nlohmann::ordered_json args = {{"step", r.step},
                                 {"microbatch", i.microbatch.value % microbatches},
                                 {"instruction", to_text(i)}};
  if (reads_weights(i.op) || i.op == Op::Update) args["version"] = i.weights.version.value;
  if (r.bytes) args["bytes"] = *r.bytes;
  return args;
}

// Finds the record of a stage's instruction for a micro-batch of a step.
class Index {
 public:
  explicit Index(const std::vector<TraceTrack>& tracks) {
    for (const TraceTrack& track : tracks)
      for (const TraceRecord& r : track.records())
        if (!r.waiting) records_.emplace(key(r.instruction.op, r.instruction.stage.value, r), &r);
  }
  const TraceRecord* find(Op op, int stage, const TraceRecord& same) const {
    const auto found = records_.find(key(op, stage, same));
    return found == records_.end() ? nullptr : found->second;
  }

 private:
  using Key = std::tuple<Op, int, std::int64_t, int>;
  static Key key(Op op, int stage, const TraceRecord& r) {
    return {op, stage, r.step, r.instruction.microbatch.value};
  }
  std::map<Key, const TraceRecord*> records_;
};

// The instructions by which a micro-batch's tensor crosses a cut.
struct Crossing {
  std::string_view name;
  const TraceRecord *send = nullptr, *receive = nullptr, *reader = nullptr;
};

Crossing crossing_of(const Index& index, const TraceRecord& receive) {
  const int stage = receive.instruction.stage.value;
  if (receive.instruction.op == Op::ReceiveActivation)
    return {"activation", index.find(Op::SendActivation, stage - 1, receive), &receive,
            index.find(Op::Forward, stage, receive)};
  if (receive.instruction.op == Op::ReceiveRecomputed)
    return {"recomputed activation", index.find(Op::SendRecomputed, stage - 1, receive), &receive,
            index.find(Op::Recompute, stage, receive)};
  const TraceRecord* reader = nullptr;
  for (const Op op : {Op::Backward, Op::BackwardHead, Op::BackwardUpdate, Op::BackwardInput})
    if (!reader) reader = index.find(op, stage, receive);
  return {"gradient", index.find(Op::SendGradient, stage + 1, receive), &receive, reader};
}

constexpr std::int64_t shortest_wait_ns = 1000;  // shorter ones are the cost of a lock

// Adds recorded instructions to a timeline.
class EventWriter {
 public:
  EventWriter(const std::vector<TraceTrack>& tracks, int microbatches)
      : index_(tracks), microbatches_(microbatches) {
    for (const TraceTrack& track : tracks)
      for (const TraceRecord& r : track.records()) origin_ns_ = std::min(origin_ns_, r.begin_ns);
  }

  // A receive shows as waiting until its send has begun, so that an arrow never points to a slice
  // that began before the arrow did.
  void add_slices(const TraceRecord& r) {
    if (!is_receive(r.instruction.op)) return add(r, r.waiting, r.begin_ns, r.end_ns);
    if (r.waiting) return;  // the record of the whole covers it
    const TraceRecord* const send = crossing_of(index_, r).send;
    const std::int64_t begin = begin_of(r, send);
    add(r, true, r.begin_ns, begin);
    add(r, false, begin, r.end_ns);
  }

  void add_arrow(const TraceRecord& r) {
    const Crossing c = crossing_of(index_, r);
    if (!c.send || !c.reader) return;
    ++arrows_;
    const std::int64_t begin = begin_of(r, c.send);
    events_.add(Arrow::Begins, c.name, arrows_, place_of(*c.send), us(c.send->begin_ns));
    events_.add(Arrow::Passes, c.name, arrows_, place_of(r), us(begin + (r.end_ns - begin) / 2));
    events_.add(Arrow::Ends, c.name, arrows_, place_of(*c.reader), us(c.reader->begin_ns));
  }

  TraceEvents& events() { return events_; }

 private:
  // The clocks of two hosts may differ by more than a message takes.
  static std::int64_t begin_of(const TraceRecord& receive, const TraceRecord* send) {
    return send ? std::clamp(send->begin_ns, receive.begin_ns, receive.end_ns) : receive.begin_ns;
  }
  double us(std::int64_t ns) const { return static_cast<double>(ns - origin_ns_) / 1000; }

  void add(const TraceRecord& r, bool waiting, std::int64_t begin_ns, std::int64_t end_ns) {
    if (waiting && end_ns - begin_ns < shortest_wait_ns) return;
    events_.add({.on = place_of(r),
                 .name = waiting ? "waiting" : name_of(r.instruction),
                 .category = waiting ? "waiting" : op_name(r.instruction.op),
                 .start_us = us(begin_ns),
                 .duration_us = static_cast<double>(end_ns - begin_ns) / 1000,
                 .args = args_of(r, microbatches_)});
  }

  Index index_;
  int microbatches_;
  std::int64_t origin_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t arrows_ = 0;
  TraceEvents events_;
};

}  // namespace

TraceTrack::TraceTrack(const StepRange& steps, int group, std::size_t instructions)
    : steps_(steps), group_(group) {
  records_.reserve(instructions * records_per_instruction);
}

void TraceTrack::record(std::int64_t begin_ns, std::int64_t end_ns, bool waiting) {
  add(open_);
  TraceRecord& r = records_.back();
  r.begin_ns = begin_ns;
  r.end_ns = end_ns;
  r.waiting = waiting;
}

void TraceTrack::add(const TraceRecord& record) {
  PIPETRAIN_CHECK(records_.size() < records_.capacity(), "more is traced than was reckoned with");
  records_.push_back(record);
}

Trace::Trace(const StepRange& steps, const Program& program)
    : steps_(steps), microbatches_(program.microbatches) {
  // A copy of a stage runs the same number of instructions in each of its mini-batches.
  const auto each = static_cast<std::size_t>(program.minibatches);
  const auto minibatches = static_cast<std::size_t>(steps.last - steps.first + 1);
  std::map<std::pair<StageId, std::size_t>, std::size_t> instructions;  // by stage and worker
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    for (const Instruction& i : program.workers[w]) ++instructions[{i.stage, w}];
  for (StageId s{0}; s.value < program.stages; ++s.value) {
    first_.push_back(static_cast<int>(tracks_.size()));
    const int copies = program.copies_of(s);
    for (int copy = 0; copy < copies; ++copy) {
      const auto worker = static_cast<std::size_t>(program.worker_of_copy(s, copy).value);
      const std::size_t turns = program.whole_minibatches ? static_cast<std::size_t>(copies) : 1;
      const std::size_t own = std::max<std::size_t>(1, each / turns);
      const std::size_t count =
          (instructions[{s, worker}] + own - 1) / own * ((minibatches + turns - 1) / turns);
      names_.push_back(copies > 1 ? fmt::format("stage {}, copy {}", s.value, copy)
                                  : fmt::format("stage {}", s.value));
      tracks_.emplace_back(steps, static_cast<int>(tracks_.size()), count);
    }
  }
}

bool Trace::empty() const {
  return std::ranges::all_of(tracks_, [](const TraceTrack& t) { return t.records().empty(); });
}

std::vector<TraceRecord> Trace::take() {
  std::vector<TraceRecord> records;
  for (TraceTrack& track : tracks_) {
    records.insert(records.end(), track.records().begin(), track.records().end());
    track.clear();
  }
  return records;
}

void Trace::add(std::span<const TraceRecord> records, std::int64_t later_ns) {
  for (TraceRecord r : records) {
    r.begin_ns += later_ns;
    r.end_ns += later_ns;
    tracks_.at(r.group).add(r);
  }
}

std::string Trace::text() const {
  EventWriter writer(tracks_, microbatches_);
  for (int group = 0; group < static_cast<int>(tracks_.size()); ++group) {
    writer.events().name_group(group, names_[group]);
    for (int row = 0; row < static_cast<int>(row_names.size()); ++row)
      writer.events().name_track({.group = group, .track = row}, row_names[row]);
  }
  for (const TraceTrack& track : tracks_)
    for (const TraceRecord& r : track.records()) writer.add_slices(r);
  for (const TraceTrack& track : tracks_)
    for (const TraceRecord& r : track.records())
      if (!r.waiting && is_receive(r.instruction.op)) writer.add_arrow(r);
  return writer.events().text();
}

}  // namespace pipetrain
