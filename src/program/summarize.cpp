// Workers run as far as they can, each until it waits for a packet or for others' gradients; what
// they wait for sets them going again. Which of them runs first changes no number, since a channel
// has one sender and one receiver. Only shared links care: there the ends of compute are taken in
// the order of time.
#include "program/summarize.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"
#include "program/packets.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

// Of one micro-batch on one stage, as its instructions take it.
struct StageTimes {
  double forward, backward, head, tail, input_half, weight_half, update;
  double activation, gradient;  // transfers over the boundary to the next stage
  bool operator==(const StageTimes&) const = default;
};

// One for each stage; one for all where they are alike.
std::vector<StageTimes> times_of(const CompactOrder& order, const Costs& costs) {
  std::vector<StageTimes> all;
  const int packets = order.gradients_together ? order.microbatches : 1;
  for (StageId s{0}; s.value < order.stages; ++s.value) {
    const StageCosts& c = costs.of(s);
    const bool last = s.value == order.stages - 1 && s.value > 0;  // sends to no next one
    const double transfer = last ? costs.of({s.value - 1}).transfer : c.transfer;
    all.push_back({time_of(c, Op::Forward), time_of(c, Op::Backward), time_of(c, Op::BackwardHead),
                   time_of(c, Op::BackwardTail), time_of(c, Op::BackwardInput),
                   time_of(c, Op::BackwardWeight), time_of(c, Op::Update), transfer,
                   packets * transfer});
  }
  const bool alike = std::ranges::all_of(all, [&](const auto& times) { return times == all[0]; });
  if (alike) all.erase(all.begin() + 1, all.end());
  return all;
}

// What is needed at every instruction first, so that it shares a cache line.
struct alignas(64) WalkingWorker {
  const ComputeInstruction *next = nullptr, *end = nullptr;
  double now = 0, busy = 0, last = 0;
  int round = 0, in_flight = 0, peak = 0;
  bool started = false;     // has computed
  bool computing = false;   // `next` has been computed, what follows it has not
  bool recomputed = false;  // for `next`
  bool queued = false;
  bool asked = false;     // for the packet of `next`, where transfers occupy workers
  int awaited_sync = -1;  // the mini-batch whose gradients its updates wait for

  int transfers = 0;  // that occupy it now
  double transfers_end = 0;
  const ComputeInstruction* begin = nullptr;
  double first = 0;
  int stages_done = 0;               // with their backwards of a mini-batch
  std::vector<StageId> updates_due;  // behind the awaited sync
};

// Gradients handed in for one mini-batch.
struct HandedIn {
  int missing = 0;
  double complete_at = 0;
  std::vector<int> waiting;  // workers
};

// A copy of a stage.
struct StageCopy {
  StageId stage;
  int copy = 0, copies = 1;
  int done = 0;  // weight gradients of the present mini-batch
};

class OrderWalk {
 public:
  OrderWalk(const CompactOrder& order, const Costs& costs, const Additions& additions);
  Summary run();

 private:
  static constexpr int burst = 256;  // instructions of one worker before others have a turn

  const CompactOrder& order_;
  const Costs& costs_;
  const Additions& additions_;
  const bool timed_, occupies_, disturbed_, counts_;
  const int last_stage_;
  std::vector<StageTimes> times_;
  ChannelTable channels_;
  std::vector<Packets> packets_;
  std::vector<double> link_free_at_;
  std::vector<WalkingWorker> workers_;
  std::deque<int> ready_;
  using End = std::pair<double, int>;  // of compute, and on which worker
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<HandedIn> handed_in_;           // per mini-batch; only where updates are counted
  std::vector<std::vector<StageCopy>> held_;  // per worker; likewise

  void prepare_updates();
  void advance(int w);
  void set_going(int w);
  void pause(int w);

  const StageTimes& times_at(StageId s) const {
    return times_[times_.size() == 1 ? 0 : static_cast<std::size_t>(s.value)];
  }
  bool together_begins(int m) const {
    return !order_.gradients_together || m % order_.microbatches == 0;
  }
  bool together_ends(int m) const {
    return !order_.gradients_together || (m + 1) % order_.microbatches == 0;
  }
  int microbatch_of(const WalkingWorker& me) const {
    return me.next->microbatch().value + me.round * order_.microbatches;
  }
  bool sends_early(Op op, int stage, int m) const {
    return op == Op::Backward && stage > 0 && additions_.early_sends && !occupies_ &&
           together_ends(m);
  }

  bool begin_next(WalkingWorker& me);
  bool receive(WalkingWorker& me, int w);
  void compute(WalkingWorker& me, int w);
  void finish(WalkingWorker& me, int w);
  void charge(WalkingWorker& me, int w, Op op, StageId stage, int m, double time);

  void send(WalkingWorker& me, int w, bool gradient, int boundary, int m);
  bool take(WalkingWorker& me, int w, bool gradient, int boundary, int m);
  double transfer(Packets& packets, bool gradient, int boundary, double ready);
  void meet(WalkingWorker& me, int w, bool gradient, int boundary, int m);
  bool within_worker(int boundary, int m) const;

  void count_weight_gradient(WalkingWorker& me, int w, StageId stage, int m);
  void update(WalkingWorker& me, StageId stage);
  bool pass_sync(WalkingWorker& me, int w);
  void refuse_deadlock() const;
};

bool any_updates(const CompactOrder& order, const Costs& costs) {
  for (StageId s{0}; s.value < order.stages; ++s.value)
    if (costs.of(s).update != 0) return true;
  return false;
}

OrderWalk::OrderWalk(const CompactOrder& order, const Costs& costs, const Additions& additions)
    : order_(order),
      costs_(costs),
      additions_(additions),
      timed_(!costs.links.none()),
      occupies_(costs.transfers_occupy_workers),
      disturbed_(!costs.disturbance.none()),
      counts_(!additions.syncing.empty() || any_updates(order, costs)),
      last_stage_(order.stages - 1),
      times_(times_of(order, costs)),
      channels_(order),
      packets_(channels_.size()) {
  for (const auto& list : order.workers) {
    auto& worker = workers_.emplace_back();
    worker.begin = worker.next = list.data();
    worker.end = list.data() + list.size();
  }
  for (const auto* links : {&costs.links.activations, &costs.links.gradients})
    for (const int link : *links)
      if (link >= static_cast<int>(link_free_at_.size()))
        link_free_at_.resize(static_cast<std::size_t>(link) + 1, 0);
  if (counts_) prepare_updates();
}

void OrderWalk::prepare_updates() {
  held_.resize(workers_.size());
  handed_in_.resize(static_cast<std::size_t>(order_.minibatches));
  for (StageId s{0}; s <= StageId{last_stage_}; ++s.value) {
    const int copies = order_.copies_of(s);
    for (int copy = 0; copy < copies; ++copy) {
      held_[static_cast<std::size_t>(order_.worker_of(s, {copy}).value)].push_back(
          {s, copy, copies});
      if (!additions_.syncing.contains(s)) continue;
      for (MinibatchId k{0}; k.value < order_.minibatches; ++k.value)
        handed_in_[static_cast<std::size_t>(k.value)].missing +=
            share_of_copy(order_, copy, copies, k) > 0;
    }
  }
}

// Those that have just been waited for come first: their packets are still at hand.
void OrderWalk::set_going(int w) {
  auto& worker = workers_[static_cast<std::size_t>(w)];
  if (!std::exchange(worker.queued, true)) ready_.push_front(w);
}

// Behind all others, so that packets do not pile up in front of them.
void OrderWalk::pause(int w) {
  workers_[static_cast<std::size_t>(w)].queued = true;
  ready_.push_back(w);
}

Summary OrderWalk::run() {
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) pause(w);
  while (!ready_.empty() || !ends_.empty()) {
    if (!ready_.empty()) {
      const int w = ready_.front();
      ready_.pop_front();
      workers_[static_cast<std::size_t>(w)].queued = false;
      advance(w);
    } else {
      const int w = ends_.top().second;
      ends_.pop();
      advance(w);
    }
  }
  refuse_deadlock();

  Summary summary;
  double busy_total = 0;
  for (const auto& worker : workers_) {
    summary.makespan = std::max(summary.makespan, worker.now);
    busy_total += worker.busy;
    summary.idle.push_back(worker.last - worker.first - worker.busy);
    summary.peak_activations.push_back(worker.peak);
  }
  const double worker_time = summary.makespan * static_cast<double>(workers_.size());
  if (worker_time > 0) summary.bubble = (worker_time - busy_total) / worker_time;
  return summary;
}

void OrderWalk::advance(int w) {
  WalkingWorker& me = workers_[static_cast<std::size_t>(w)];
  for (int left = burst; left > 0; --left) {
    if (me.computing) finish(me, w);
    if (me.awaited_sync >= 0 && !pass_sync(me, w)) return;
    if (!begin_next(me)) {
      if (me.transfers == 0) me.now = std::max(me.now, me.transfers_end);
      return;
    }
    if (!receive(me, w)) return;
    compute(me, w);
    if (timed_) return ends_.push({me.now, w});
  }
  pause(w);
}

// False at the end of the list.
bool OrderWalk::begin_next(WalkingWorker& me) {
  if (me.next != me.end) return true;
  if (me.round + 1 >= order_.rounds() || me.begin == me.end) return false;
  ++me.round;
  me.next = me.begin;
  return true;
}

// What `next` reads; false where it is not there yet. A stage recomputes while it waits.
bool OrderWalk::receive(WalkingWorker& me, int w) {
  const Op op = me.next->op();
  const StageId stage = me.next->stage();
  const int m = microbatch_of(me);
  const bool backward = op != Op::Forward && gives_input_gradient(op);
  if (backward && additions_.recompute && !std::exchange(me.recomputed, true))
    charge(me, w, Op::Recompute, stage, m, times_at(stage).forward);
  if (op == Op::Forward && stage.value > 0) return take(me, w, false, stage.value - 1, m);
  if (backward && stage.value < last_stage_ && together_begins(m))
    return take(me, w, true, stage.value, m);
  if (me.transfers > 0) return false;
  me.now = std::max(me.now, me.transfers_end);
  return true;
}

void OrderWalk::charge(WalkingWorker& me, int w, Op op, StageId stage, int m, double time) {
  if (disturbed_) time *= factor_of(costs_.disturbance, {w}, stage, {m}, op);
  if (!std::exchange(me.started, true)) me.first = me.now;
  const double start = me.now;
  me.now += time;
  me.busy += me.now - start;
  me.last = me.now;
}

void OrderWalk::compute(WalkingWorker& me, int w) {
  const Op op = me.next->op();
  const StageId stage = me.next->stage();
  const int m = microbatch_of(me);
  const StageTimes& t = times_at(stage);
  const double time = op == Op::Forward                 ? t.forward
                      : op == Op::BackwardInput         ? t.input_half
                      : op == Op::BackwardWeight        ? t.weight_half
                      : sends_early(op, stage.value, m) ? t.head
                                                        : t.backward;
  charge(me, w, op, stage, m, time);
  if (op == Op::Forward)
    me.peak = std::max(me.peak, ++me.in_flight);
  else if (op != Op::BackwardWeight)
    --me.in_flight;
  me.computing = true;
}

// What follows a forward or a backward: its send, its tail, and an update.
void OrderWalk::finish(WalkingWorker& me, int w) {
  const Op op = me.next->op();
  const StageId stage = me.next->stage();
  const int m = microbatch_of(me);
  me.computing = me.recomputed = me.asked = false;
  ++me.next;
  if (op == Op::Forward) {
    if (stage.value < last_stage_) send(me, w, false, stage.value, m);
    return;
  }
  if (op != Op::BackwardWeight && stage.value > 0 && together_ends(m)) {
    send(me, w, true, stage.value - 1, m);
    if (sends_early(op, stage.value, m))
      charge(me, w, Op::BackwardTail, stage, m, times_at(stage).tail);
  }
  if (counts_ && op != Op::BackwardInput) count_weight_gradient(me, w, stage, m);
}

// ---- transfers

// The end of a transfer that could begin at `ready`.
double OrderWalk::transfer(Packets& packets, bool gradient, int boundary, double ready) {
  const StageTimes& t = times_at({boundary});
  double start = std::max(ready, packets.free_at);
  double* link = nullptr;
  const auto& links = gradient ? costs_.links.gradients : costs_.links.activations;
  if (!links.empty() && links[static_cast<std::size_t>(boundary)] >= 0) {
    link = &link_free_at_[static_cast<std::size_t>(links[static_cast<std::size_t>(boundary)])];
    start = std::max(start, *link);
  }
  packets.free_at = start + (gradient ? t.gradient : t.activation);
  if (link) *link = packets.free_at;
  return packets.free_at;
}

bool OrderWalk::within_worker(int boundary, int m) const {
  return order_.worker_of({boundary}, {m}) == order_.worker_of({boundary + 1}, {m});
}

void OrderWalk::send(WalkingWorker& me, int w, bool gradient, int boundary, int m) {
  if (occupies_ && !within_worker(boundary, m)) return meet(me, w, gradient, boundary, m);
  Packets& packets = packets_[channels_.index(boundary, gradient, m)];
  packets.times.push(transfer(packets, gradient, boundary, me.now));
  if (packets.waiting >= 0) set_going(std::exchange(packets.waiting, -1));
}

bool OrderWalk::take(WalkingWorker& me, int w, bool gradient, int boundary, int m) {
  if (occupies_) {
    const bool within = within_worker(boundary, m);
    if (!within && !std::exchange(me.asked, true)) meet(me, w, gradient, boundary, m);
    if (me.transfers > 0) return false;
    me.now = std::max(me.now, me.transfers_end);
    if (!within) return true;
  }
  Packets& packets = packets_[channels_.index(boundary, gradient, m)];
  if (packets.times.empty()) {
    packets.waiting = w;
    return false;
  }
  me.now = std::max(me.now, packets.times.pop());
  return true;
}

// One end of a transfer that occupies both workers is ready: the second one begins it.
void OrderWalk::meet(WalkingWorker& me, int w, bool gradient, int boundary, int m) {
  Packets& packets = packets_[channels_.index(boundary, gradient, m)];
  ++me.transfers;
  if (packets.waiting < 0) {
    packets.waiting = w;
    packets.times.push(me.now);
    return;
  }
  WalkingWorker& other = workers_[static_cast<std::size_t>(packets.waiting)];
  const double end = transfer(packets, gradient, boundary, std::max(me.now, packets.times.pop()));
  for (WalkingWorker* worker : {&me, &other}) {
    --worker->transfers;
    worker->transfers_end = std::max(worker->transfers_end, end);
  }
  const int waiting = std::exchange(packets.waiting, -1);
  if (other.transfers == 0) set_going(waiting);
}

// ---- updates

void OrderWalk::update(WalkingWorker& me, StageId stage) {
  const double time = times_at(stage).update;
  me.now += time;
  me.busy += time;
  if (time != 0) me.last = me.now;
}

void OrderWalk::count_weight_gradient(WalkingWorker& me, int w, StageId stage, int m) {
  auto& held = held_[static_cast<std::size_t>(w)];
  auto& copy = *std::ranges::find(held, stage, &StageCopy::stage);
  if (++copy.done < order_.microbatches / copy.copies) return;  // no share is smaller
  const MinibatchId k{m / order_.microbatches};
  const auto share = [&](const StageCopy& c) { return share_of_copy(order_, c.copy, c.copies, k); };
  if (copy.done < share(copy)) return;
  copy.done = 0;
  if (additions_.syncing.contains(stage)) {
    auto& handed_in = handed_in_[static_cast<std::size_t>(k.value)];
    handed_in.complete_at = std::max(handed_in.complete_at, me.now);
    me.updates_due.push_back(stage);
    if (--handed_in.missing == 0)
      for (const int waiting : std::exchange(handed_in.waiting, {})) set_going(waiting);
  } else {
    update(me, stage);
  }
  const auto taking_part = std::ranges::count_if(held, [&](const auto& c) { return share(c) > 0; });
  if (++me.stages_done < taking_part) return;
  me.stages_done = 0;
  if (!me.updates_due.empty()) me.awaited_sync = k.value;
}

bool OrderWalk::pass_sync(WalkingWorker& me, int w) {
  auto& handed_in = handed_in_[static_cast<std::size_t>(me.awaited_sync)];
  if (handed_in.missing > 0) {
    handed_in.waiting.push_back(w);
    return false;
  }
  me.awaited_sync = -1;
  me.now = std::max(me.now, handed_in.complete_at);
  for (const StageId stage : std::exchange(me.updates_due, {})) update(me, stage);
  return true;
}

void OrderWalk::refuse_deadlock() const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto& worker = workers_[w];
    const bool ended = worker.next == worker.end && worker.round + 1 >= order_.rounds();
    if (worker.begin == worker.end || (ended && worker.transfers == 0 && worker.awaited_sync < 0))
      continue;
    const std::string where =
        ended ? "its end"
              : short_text({worker.next->op(), worker.next->stage(), {microbatch_of(worker)}, {}});
    throw UsageError(fmt::format(
        "worker {} waits for ever at {}{}", w, where,
        occupies_ ? ": transfers occupy both workers, and their turns do not fit together; use the "
                    "order of 1f1b, or transfers that occupy none"
                  : "; an order has to be one that `check` accepts"));
  }
}

}  // namespace

Summary summarize(const CompactOrder& order, const Costs& costs, const Additions& additions) {
  return OrderWalk(order, costs, additions).run();
}

}  // namespace pipetrain
