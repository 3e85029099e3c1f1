#include "program/sharing.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "base/check.hpp"

namespace pipetrain {
namespace {

// The forwards or the backwards of a worker.
struct Lane {
  std::vector<MicrobatchId> microbatches;
  std::vector<int> backwards_before = {};  // in the list, of each
  std::size_t done = 0;
  bool running = false;
  double left = 0;     // of the one that runs: its time on a worker of its own
  int packets = 0;     // that have come and are not used
  double free_at = 0;  // the channel to the neighbour that this lane sends to
};

struct SharedWorker {
  Lane lanes[2];  // forwards, backwards
  double now = 0, busy = 0, first = -1, last = 0;
  int in_flight = 0, peak = 0;
  int plan = 0;  // ends that were foreseen before are of no account

  int running() const { return lanes[0].running + lanes[1].running; }
};

struct LaneEvent {
  double time;
  int worker;
  int lane;  // where a packet comes; -1: the end of what is left least
  int plan;
  auto operator<=>(const LaneEvent&) const = default;
};

class SharingWalk {
 public:
  SharingWalk(const CompactOrder& order, const Costs& costs);
  Summary run();

 private:
  const CompactOrder& order_;
  const Costs& costs_;
  std::vector<SharedWorker> workers_;
  std::priority_queue<LaneEvent, std::vector<LaneEvent>, std::greater<>> events_;

  int last_stage() const { return order_.stages - 1; }
  void progress(SharedWorker& me, double time);
  void start(int w);
  bool may_start(int w, int lane) const;
  void end_least(int w);
  void send(int w, int lane);
};

SharingWalk::SharingWalk(const CompactOrder& order, const Costs& costs)
    : order_(order), costs_(costs) {
  PIPETRAIN_CHECK(order.placement.empty() && !order.gradients_together,
                  "forwards and backwards share workers of one stage each");
  for (int w = 0; w < static_cast<int>(order.workers.size()); ++w) {
    SharedWorker& worker = workers_.emplace_back();
    int backwards = 0;
    each_compute(order, {w}, [&](Op op, StageId, MicrobatchId m) {
      PIPETRAIN_CHECK(op == Op::Forward || op == Op::Backward, "a half of a backward");
      Lane& lane = worker.lanes[op == Op::Backward];
      lane.microbatches.push_back(m);
      lane.backwards_before.push_back(backwards);
      backwards += op == Op::Backward;
    });
  }
}

// The worker's two lanes until `time`.
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
  if (lane.running || lane.done == lane.microbatches.size()) return false;
  const bool receives = index == 0 ? w > 0 : w < last_stage();
  if (receives && lane.packets == 0) return false;
  if (index == 0) return static_cast<int>(me.lanes[1].done) >= lane.backwards_before[lane.done];
  // The last stage's backward has no packet to wait for, but its own forward.
  return w < last_stage() || me.lanes[0].done > lane.done;
}

// Begins what can begin, and foresees which lane ends first.
void SharingWalk::start(int w) {
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  for (const int index : {0, 1}) {
    if (!may_start(w, index)) continue;
    Lane& lane = me.lanes[index];
    const Op op = index == 0 ? Op::Forward : Op::Backward;
    lane.running = true;
    lane.left = time_of(costs_.of({w}), op) *
                (costs_.disturbance.none()
                     ? 1
                     : factor_of(costs_.disturbance, {w}, {w}, lane.microbatches[lane.done], op));
    if (index == 0 ? w > 0 : w < last_stage()) --lane.packets;
    if (index == 0) me.peak = std::max(me.peak, ++me.in_flight);
    if (me.first < 0) me.first = me.now;
  }
  ++me.plan;
  if (me.running() == 0) return;
  double least = -1;
  for (const Lane& lane : me.lanes)
    if (lane.running && (least < 0 || lane.left < least)) least = std::max(0.0, lane.left);
  events_.push({me.now + least * me.running(), w, -1, me.plan});
}

// A lane's packet reaches the neighbour's.
void SharingWalk::send(int w, int index) {
  const int to = index == 0 ? w + 1 : w - 1;
  if (to < 0 || to > last_stage()) return;
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  Lane& lane = me.lanes[index];
  const double transfer = costs_.of({std::min(w, to)}).transfer;
  lane.free_at = std::max(me.now, lane.free_at) + transfer;
  events_.push({lane.free_at, to, index, 0});
}

void SharingWalk::end_least(int w) {
  SharedWorker& me = workers_[static_cast<std::size_t>(w)];
  const bool backward =
      !me.lanes[0].running || (me.lanes[1].running && me.lanes[1].left < me.lanes[0].left);
  Lane& lane = me.lanes[backward];
  lane.running = false;
  ++lane.done;
  me.in_flight -= backward;
  send(w, backward);
}

Summary SharingWalk::run() {
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) start(w);
  while (!events_.empty()) {
    const LaneEvent event = events_.top();
    events_.pop();
    SharedWorker& me = workers_[static_cast<std::size_t>(event.worker)];
    if (event.lane < 0 && event.plan != me.plan) continue;
    progress(me, event.time);
    if (event.lane < 0)
      end_least(event.worker);
    else
      ++me.lanes[event.lane].packets;
    start(event.worker);
  }
  Summary summary;
  double busy = 0;
  for (const SharedWorker& worker : workers_) {
    for (const Lane& lane : worker.lanes)
      PIPETRAIN_CHECK(lane.done == lane.microbatches.size(), "a worker waits for ever");
    summary.makespan = std::max(summary.makespan, worker.last);
    summary.idle.push_back(worker.last - std::max(0.0, worker.first) - worker.busy);
    summary.peak_activations.push_back(worker.peak);
    busy += worker.busy;
  }
  const double worker_time = summary.makespan * static_cast<double>(workers_.size());
  if (worker_time > 0) summary.bubble = (worker_time - busy) / worker_time;
  return summary;
}

}  // namespace

Summary summarize_sharing(const CompactOrder& order, const Costs& costs) {
  return SharingWalk(order, costs).run();
}

}  // namespace pipetrain
