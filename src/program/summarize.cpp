// Workers run as far as they can, each until it waits for a packet or for others' gradients; what
// they wait for wakes them. Which of them runs first changes no number, since a channel has one
// sender and one receiver. Only for shared links does it matter: there the ends of compute are
// taken in the order of time.
#include "program/summarize.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"
#include "program/gradient_board.hpp"
#include "program/links.hpp"
#include "program/sharing.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

// What every instruction needs comes first, so that it shares a cache line.
struct alignas(64) WalkingWorker {
  ComputeList::Cursor next = {};
  double now = 0, busy = 0, last = 0;
  int round = 0, in_flight = 0, peak = 0;
  bool started = false;     // has computed
  bool computing = false;   // `next` has been computed, but not what follows it
  bool recomputed = false;  // for `next`
  bool queued = false;
  bool asked = false;  // for the packet of `next`, if transfers occupy workers

  int transfers = 0;  // that occupy it now
  double transfers_end = 0;
  const ComputeList* list = nullptr;
  double first = 0;
};

class OrderWalk {
 public:
  OrderWalk(const CompactOrder& order, const Costs& costs, const Additions& additions);
  Summary run();

 private:
  static constexpr int burst = 256;  // instructions of one worker before others get a turn

  const CompactOrder& order_;
  const Costs& costs_;
  const Additions& additions_;
  const bool timed_, occupies_, disturbed_;
  const int last_stage_;
  const StageTimeTable times_;
  Links links_;
  std::optional<GradientBoard> board_;  // only if updates take time or wait
  std::vector<WalkingWorker> workers_;
  std::deque<int> ready_;
  using End = std::pair<double, int>;  // when compute ends, and on which worker
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;

  void advance(int w);
  void set_going(int w);
  void pause(int w);

  bool together_begins(int m) const {
    return !order_.gradients_together || m % order_.microbatches == 0;
  }
  bool together_ends(int m) const {
    return !order_.gradients_together || (m + 1) % order_.microbatches == 0;
  }
  int microbatch_of(const WalkingWorker& me) const {
    return (*me.next).microbatch().value + me.round * order_.microbatches;
  }
  bool sends_early(Op op, int stage, int m) const {
    return op == Op::Backward && stage > 0 && additions_.early_sends && !occupies_ &&
           together_ends(m);
  }

  bool begin_next(WalkingWorker& me);
  bool receive(WalkingWorker& me, int w);
  bool settle(WalkingWorker& me) const;
  void compute(WalkingWorker& me, int w);
  void finish(WalkingWorker& me, int w);
  void charge(WalkingWorker& me, int w, Op op, StageId stage, int m, double time);

  void send(WalkingWorker& me, int w, bool gradient, int boundary, int m);
  bool take(WalkingWorker& me, int w, bool gradient, int boundary, int m);
  void meet(WalkingWorker& me, int w, bool gradient, int boundary, int m);
  bool within_worker(int boundary, int m) const;

  void count_gradient(WalkingWorker& me, int w, StageId stage, int m);
  void update(WalkingWorker& me, StageId stage);
  bool pass_sync(WalkingWorker& me, int w);
  bool end(WalkingWorker& me, int w);
  void refuse_deadlock() const;
};

OrderWalk::OrderWalk(const CompactOrder& order, const Costs& costs, const Additions& additions)
    : order_(order),
      costs_(costs),
      additions_(additions),
      timed_(!costs.links.none()),
      occupies_(costs.charges == Charges::Workers),
      disturbed_(!costs.disturbance.none()),
      last_stage_(order.stages - 1),
      times_(order, costs),
      links_(order, costs, times_) {
  for (const auto& list : order.workers) {
    auto& worker = workers_.emplace_back();
    worker.list = &list;
    worker.next = list.begin();
  }
  if (!additions.syncing.empty() || times_.any_update()) board_.emplace(order, additions.syncing);
}

// Workers that have just been waited for come first: their packets are still in the cache.
void OrderWalk::set_going(int w) {
  auto& worker = workers_[static_cast<std::size_t>(w)];
  if (!std::exchange(worker.queued, true)) ready_.push_front(w);
}

// Queues the worker after all others, so that packets do not pile up in front of them.
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
    if (board_ && board_->awaits(w) && !pass_sync(me, w)) return;
    if (!begin_next(me)) {
      if (board_ && !end(me, w)) return;
      settle(me);
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
  if (me.next != std::default_sentinel) return true;
  if (me.round + 1 >= order_.rounds() || me.list->empty()) return false;
  ++me.round;
  me.next = me.list->begin();
  return true;
}

// Takes what `next` reads; false if it is not there yet. A stage recomputes while it waits.
bool OrderWalk::receive(WalkingWorker& me, int w) {
  const Op op = (*me.next).op();
  const StageId stage = (*me.next).stage();
  const int m = microbatch_of(me);
  const bool backward = op != Op::Forward && gives_input_gradient(op);
  if (backward && additions_.recompute && !me.recomputed) {
    if (occupies_ && !settle(me)) return false;
    me.recomputed = true;
    charge(me, w, Op::Recompute, stage, m, times_.at(stage).forward);
  }
  if (op == Op::Forward && stage.value > 0) return take(me, w, false, stage.value - 1, m);
  if (backward && stage.value < last_stage_ && together_begins(m))
    return take(me, w, true, stage.value, m);
  return settle(me);
}

// Is the worker free of transfers, if these occupy it?
bool OrderWalk::settle(WalkingWorker& me) const {
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
  const Op op = (*me.next).op();
  const StageId stage = (*me.next).stage();
  const int m = microbatch_of(me);
  const StageTimes& t = times_.at(stage);
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
  const Op op = (*me.next).op();
  const StageId stage = (*me.next).stage();
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
      charge(me, w, Op::BackwardTail, stage, m, times_.at(stage).tail);
  }
  if (board_ && op != Op::BackwardInput) count_gradient(me, w, stage, m);
}

// ---- transfers

bool OrderWalk::within_worker(int boundary, int m) const {
  return order_.worker_of({boundary}, {m}) == order_.worker_of({boundary + 1}, {m});
}

void OrderWalk::send(WalkingWorker& me, int w, bool gradient, int boundary, int m) {
  if (occupies_ && !within_worker(boundary, m)) return meet(me, w, gradient, boundary, m);
  Packets& packets = links_.packets(boundary, gradient, m);
  packets.times.push(links_.transfer(packets, boundary, gradient, me.now));
  if (packets.waiting >= 0) set_going(std::exchange(packets.waiting, -1));
}

bool OrderWalk::take(WalkingWorker& me, int w, bool gradient, int boundary, int m) {
  if (occupies_) {
    const bool within = within_worker(boundary, m);
    if (!within && !std::exchange(me.asked, true)) meet(me, w, gradient, boundary, m);
    if (!settle(me)) return false;
    if (!within) return true;
  }
  Packets& packets = links_.packets(boundary, gradient, m);
  if (packets.times.empty()) {
    packets.waiting = w;
    return false;
  }
  me.now = std::max(me.now, packets.times.pop());
  return true;
}

// One end of a transfer that occupies both workers is ready; the second one begins it.
void OrderWalk::meet(WalkingWorker& me, int w, bool gradient, int boundary, int m) {
  Packets& packets = links_.packets(boundary, gradient, m);
  ++me.transfers;
  if (packets.waiting < 0) {
    packets.waiting = w;
    packets.times.push(me.now);
    return;
  }
  WalkingWorker& other = workers_[static_cast<std::size_t>(packets.waiting)];
  const double end =
      links_.transfer(packets, boundary, gradient, std::max(me.now, packets.times.pop()));
  for (WalkingWorker* worker : {&me, &other}) {
    --worker->transfers;
    worker->transfers_end = std::max(worker->transfers_end, end);
  }
  const int waiting = std::exchange(packets.waiting, -1);
  if (other.transfers == 0) set_going(waiting);
}

// ---- updates

void OrderWalk::update(WalkingWorker& me, StageId stage) {
  const double time = times_.at(stage).update;
  me.now += time;
  me.busy += time;
  if (time != 0) me.last = me.now;
}

void OrderWalk::count_gradient(WalkingWorker& me, int w, StageId stage, int m) {
  if (board_->count(w, stage, m, me.now)) update(me, stage);
  for (const int waiting : board_->take_released()) set_going(waiting);
}

bool OrderWalk::pass_sync(WalkingWorker& me, int w) {
  while (board_->awaits(w)) {
    const auto due = board_->pass(w);
    if (!due) return false;
    me.now = std::max(me.now, due->complete_at);
    update(me, due->stage);
  }
  return true;
}

// What is left after the last instruction: updates for mini-batches of other copies only.
bool OrderWalk::end(WalkingWorker& me, int w) {
  board_->end(w, me.now);
  for (const int waiting : board_->take_released()) set_going(waiting);
  return pass_sync(me, w);
}

void OrderWalk::refuse_deadlock() const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto& worker = workers_[w];
    const bool ended = worker.next == std::default_sentinel && worker.round + 1 >= order_.rounds();
    const bool waits = board_ && board_->awaits(static_cast<int>(w));
    if ((worker.list->empty() && !waits) || (ended && worker.transfers == 0 && !waits)) continue;
    const std::string where =
        ended ? "its end"
              : short_text(
                    {(*worker.next).op(), (*worker.next).stage(), {microbatch_of(worker)}, {}});
    throw UsageError(fmt::format(
        "worker {} waits forever at {}{}", w, where,
        occupies_ ? ": transfers occupy both workers, and their turns do not fit together; use the "
                    "order of 1f1b, or transfers that occupy none"
                  : "; an order has to be one that `check` accepts"));
  }
}

}  // namespace

Summary summarize(const CompactOrder& order, const Costs& costs, const Additions& additions) {
  if (costs.charges == Charges::SideBySide) return summarize_sharing(order, costs, additions);
  return OrderWalk(order, costs, additions).run();
}

}  // namespace pipetrain
