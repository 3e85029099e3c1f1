#include "program/sharing.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "base/check.hpp"
#include "program/liveness.hpp"

namespace pipetrain {
namespace {

// The forwards or the backwards of a worker: a position in the list that has both.
struct Lane {
  ComputeList::Cursor next = {};  // its next instruction; at the end if none is left
  int round = 0;
  int backwards_before = 0;  // `next` in the list
  int done = 0;
  bool running = false;
  double start = 0;    // of the instruction that runs
  double left = 0;     // of that instruction: its time with the worker to itself
  int packets = 0;     // arrived and not used yet
  double free_at = 0;  // the channel to the neighbour that this lane sends to
};

struct SharedWorker {
  Lane lanes[2];  // forwards, backwards
  double now = 0, busy = 0, first = -1, last = 0;
  int in_flight = 0, peak = 0;
  int updates = 0;
  int plan = 0;  // ends that were foreseen under an earlier plan are ignored

  int running() const { return lanes[0].running + lanes[1].running; }
};

struct LaneEvent {
  static constexpr int end = -1, update = -2;

  double time;
  int worker;
  int lane;  // where a packet arrives; `end`: of what has least left; `update`: its end
  int plan;
  auto operator<=>(const LaneEvent&) const = default;
};

// What a program's spans are made of: for each worker, in the order of the list.
struct SharedSpans {
  std::vector<std::vector<Span>> lanes[2], updates;
};

class SharingWalk {
 public:
  SharingWalk(const CompactOrder& order, const Costs& costs, const Additions& additions,
              SharedSpans* spans);
  Summary run();

 private:
  const CompactOrder& order_;
  const Costs& costs_;
  const Additions& additions_;
  SharedSpans* const spans_;  // may be null
  std::vector<SharedWorker> workers_;
  std::vector<int> syncs_missing_;  // for each mini-batch
  std::priority_queue<LaneEvent, std::vector<LaneEvent>, std::greater<>> events_;

  int last_stage() const { return order_.stages - 1; }
  const ComputeList& list(int w) const { return order_.workers[static_cast<std::size_t>(w)]; }
  static bool ended(const Lane& lane) { return lane.next == std::default_sentinel; }
  void find(int w, int lane);
  void step(int w, int lane);

  void progress(SharedWorker& me, double time);
  void start(int w);
  bool may_start(int w, int lane) const;
  double work(int w, int lane) const;
  void end_least(int w);
  void send(int w, int lane);
  void end_minibatch(int w);
  void begin_update(int w, double time);
  Summary summary() const;
};

SharingWalk::SharingWalk(const CompactOrder& order, const Costs& costs, const Additions& additions,
                         SharedSpans* spans)
    : order_(order),
      costs_(costs),
      additions_(additions),
      spans_(spans),
      workers_(order.workers.size()),
      syncs_missing_(static_cast<std::size_t>(order.minibatches),
                     static_cast<int>(additions.syncing.size())) {
  PIPETRAIN_CHECK(order.placement.empty() && !order.gradients_together,
                  "forwards and backwards share workers of one stage each");
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w)
    for (const int lane : {0, 1}) {
      workers_[static_cast<std::size_t>(w)].lanes[lane].next = list(w).begin();
      find(w, lane);
    }
}

// ---- the list

// Moves the lane's position to its next instruction.
void SharingWalk::find(int w, int index) {
  Lane& lane = workers_[static_cast<std::size_t>(w)].lanes[index];
  while (!ended(lane)) {
    const Op op = (*lane.next).op();
    PIPETRAIN_CHECK(op == Op::Forward || op == Op::Backward, "a half of a backward");
    if ((op == Op::Backward) == (index == 1)) return;
    step(w, index);
  }
}

void SharingWalk::step(int w, int index) {
  Lane& lane = workers_[static_cast<std::size_t>(w)].lanes[index];
  lane.backwards_before += (*lane.next).op() == Op::Backward;
  ++lane.next;
  if (!ended(lane) || lane.round + 1 >= order_.rounds()) return;
  ++lane.round;
  lane.next = list(w).begin();
}

// ---- compute

// Advances the worker's two lanes to `time`.
void SharingWalk::progress(SharedWorker& me, double time) {
  const int running = me.running();
  if (running > 0) {
    for (Lane& lane : me.lanes)
      if (lane.running) lane.left -= (time - me.now) / running;
    me.busy += time - me.now;
    me.last = time;
  }
  me.now = time;
}

bool SharingWalk::may_start(int w, int index) const {
  const SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  const Lane& lane = me.lanes[index];
  if (lane.running || ended(lane)) return false;
  const bool receives = index == 0 ? w > 0 : w < last_stage();
  if (receives && lane.packets == 0) return false;
  if (me.updates < lane.backwards_before / order_.microbatches) return false;
  if (index == 0) return me.lanes[1].done >= lane.backwards_before;
  // The last stage's backward waits for no packet, only for its own forward.
  return w < last_stage() || me.lanes[0].done > lane.done;
}

double SharingWalk::work(int w, int index) const {
  const Lane& lane = workers_[static_cast<std::size_t>(w)].lanes[index];
  const MicrobatchId m{(*lane.next).microbatch().value + lane.round * order_.microbatches};
  const auto time = [&](Op op) {
    const double alone = time_of(costs_.of({w}), op);
    return costs_.disturbance.none() ? alone
                                     : alone * factor_of(costs_.disturbance, {w}, {w}, m, op);
  };
  if (index == 0) return time(Op::Forward);
  return additions_.recompute ? time(Op::Recompute) + time(Op::Backward) : time(Op::Backward);
}

// Begins what can begin, and foresees which lane ends first.
void SharingWalk::start(int w) {
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  for (const int index : {0, 1}) {
    if (!may_start(w, index)) continue;
    Lane& lane = me.lanes[index];
    lane.running = true;
    lane.start = me.now;
    lane.left = work(w, index);
    if (index == 0 ? w > 0 : w < last_stage()) --lane.packets;
    if (index == 0) me.peak = std::max(me.peak, ++me.in_flight);
    if (me.first < 0) me.first = me.now;
  }
  ++me.plan;
  if (me.running() == 0) return;
  double least = -1;
  for (const Lane& lane : me.lanes)
    if (lane.running && (least < 0 || lane.left < least)) least = std::max(0.0, lane.left);
  events_.push({me.now + least * me.running(), w, LaneEvent::end, me.plan});
}

void SharingWalk::end_least(int w) {
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  const bool backward =
      !me.lanes[0].running || (me.lanes[1].running && me.lanes[1].left < me.lanes[0].left);
  Lane& lane = me.lanes[backward];
  lane.running = false;
  ++lane.done;
  me.in_flight -= backward;
  step(w, backward);
  find(w, backward);
  if (spans_) spans_->lanes[backward][static_cast<std::size_t>(w)].push_back({lane.start, me.now});
  send(w, backward);
  if (backward && lane.done % order_.microbatches == 0) end_minibatch(w);
}

// Sends a lane's packet to the neighbour's lane.
void SharingWalk::send(int w, int index) {
  const int to = index == 0 ? w + 1 : w - 1;
  if (to < 0 || to > last_stage()) return;
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  Lane& lane = me.lanes[index];
  const double transfer = costs_.of({std::min(w, to)}).transfer;
  lane.free_at = std::max(me.now, lane.free_at) + transfer;
  events_.push({lane.free_at, to, index, 0});
}

// ---- updates

void SharingWalk::end_minibatch(int w) {
  const SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  const std::set<StageId>& syncing = additions_.syncing;
  if (!syncing.contains({w})) return begin_update(w, me.now);
  const int k = me.lanes[1].done / order_.microbatches - 1;
  if (--syncs_missing_[static_cast<std::size_t>(k)] > 0) return;
  for (const StageId stage : syncing) begin_update(stage.value, me.now);  // the last one to hand in
}

void SharingWalk::begin_update(int w, double time) {
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  const double update = time_of(costs_.of({w}), Op::Update), end = time + update;
  me.busy += update;
  if (update > 0) me.last = end;
  if (spans_) spans_->updates[static_cast<std::size_t>(w)].push_back({time, end});
  events_.push({end, w, LaneEvent::update, 0});
}

// ---- the whole

Summary SharingWalk::run() {
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) start(w);
  while (!events_.empty()) {
    const LaneEvent event = events_.top();
    events_.pop();
    SharedWorker& me = workers_[static_cast<std::size_t>(event.worker)];
    if (event.lane == LaneEvent::end && event.plan != me.plan) continue;
    progress(me, event.time);
    if (event.lane == LaneEvent::end)
      end_least(event.worker);
    else if (event.lane == LaneEvent::update)
      ++me.updates;
    else
      ++me.lanes[event.lane].packets;
    start(event.worker);
  }
  return summary();
}

Summary SharingWalk::summary() const {
  Summary summary;
  double busy = 0;
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
    const SharedWorker& worker = workers_[static_cast<std::size_t>(w)];
    for (const Lane& lane : worker.lanes)
      PIPETRAIN_CHECK(ended(lane), "worker {} waits forever", w);
    summary.makespan = std::max(summary.makespan, worker.last);
    summary.idle.push_back(worker.last - std::max(0.0, worker.first) - worker.busy);
    summary.peak_activations.push_back(worker.peak);
    busy += worker.busy;
  }
  const double worker_time = summary.makespan * static_cast<double>(workers_.size());
  if (worker_time > 0) summary.bubble = (worker_time - busy) / worker_time;
  return summary;
}

// ---- a program

CompactOrder order_of(const Program& program) {
  CompactOrder order{{program}, {}};
  for (const auto& list : program.workers) {
    auto& computed = order.workers.emplace_back();
    for (const Instruction& i : list)
      if (i.op == Op::Forward || without_update(i.op) == Op::Backward)
        computed.push_back({without_update(i.op), i.stage, i.microbatch});
  }
  return order;
}

// The spans of one worker's list, from those of its lanes and updates.
std::vector<Span> spans_of(const std::vector<Instruction>& list, const std::vector<Span>& forwards,
                           const std::vector<Span>& backwards, const std::vector<Span>& updates) {
  std::vector<Span> spans;
  std::size_t lanes_done[2] = {}, updated = 0;
  const std::vector<Span>* const lanes[2] = {&forwards, &backwards};
  for (const Instruction& i : list) {
    const bool backward = i.op != Op::Forward && i.op != Op::LoadInput &&
                          i.op != Op::ReceiveActivation && i.op != Op::SendActivation;
    const auto& lane = *lanes[backward];
    std::size_t& done = lanes_done[backward];
    const bool computed = i.op == Op::Forward || without_update(i.op) == Op::Backward;
    const bool comes_first = i.op == Op::LoadInput || is_receive(i.op) || i.op == Op::Recompute;
    if (i.op == Op::Update)
      spans.push_back(updates[updated++]);
    else if (computed)
      spans.push_back(lane[done++]);
    else
      spans.push_back(comes_first ? Span{lane[done].start, lane[done].start}
                                  : Span{lane[done - 1].end, lane[done - 1].end});
    if (fuses_update(i.op)) spans.back().end = updates[updated++].end;
  }
  return spans;
}

}  // namespace

Summary summarize_sharing(const CompactOrder& order, const Costs& costs,
                          const Additions& additions) {
  return SharingWalk(order, costs, additions, nullptr).run();
}

Timeline simulate_sharing(const Program& program, const Costs& costs) {
  const std::size_t workers = program.workers.size();
  const CompactOrder order = order_of(program);
  const Additions additions{.recompute = program.has(Op::Recompute),
                            .syncing = program.syncing_stages()};
  SharedSpans spans{
      {std::vector<std::vector<Span>>(workers), std::vector<std::vector<Span>>(workers)},
      std::vector<std::vector<Span>>(workers)};
  Timeline line{SharingWalk(order, costs, additions, &spans).run(), {}, Charges::SideBySide};
  for (std::size_t w = 0; w < workers; ++w)
    line.spans.push_back(
        spans_of(program.workers[w], spans.lanes[0][w], spans.lanes[1][w], spans.updates[w]));
  line.peak_weight_versions = peak_weight_versions_of_workers(program);
  return line;
}

}  // namespace pipetrain
