#include "order/list_scheduler.hpp"

namespace pipetrain {

ListScheduler::ListScheduler(const OrderInput& input, Length length)
    : in_(input),
      endless_(length == Length::Endless),
      workers_(static_cast<std::size_t>(input.stages)) {
  in_.busy = settled(input.busy, input.stages, input.microbatches);
}

std::vector<std::int64_t> ListScheduler::state() const {
  const std::int64_t k = workers_[0].backwards_begun, m = k * in_.microbatches;
  std::vector<std::int64_t> state;
  for (const Worker& w : workers_) {
    const std::int64_t left = w.runs == Runs::Nothing ? 0 : w.end - now_;
    state.insert(state.end(), {w.forwards_begun - m, w.forwards_done - m, w.backwards_begun - k,
                               w.backwards_done - k, left});
  }
  return state;
}

bool ListScheduler::backward_is_ready(int w) const {
  const auto at = static_cast<std::size_t>(w);
  const std::int64_t next = workers_[at].backwards_begun;
  if (!endless_ && next == in_.minibatches) return false;
  return w == in_.stages - 1 ? workers_[at].forwards_done >= (next + 1) * in_.microbatches
                             : workers_[at + 1].backwards_done > next;
}

bool ListScheduler::forward_is_ready(int w) const {
  const auto at = static_cast<std::size_t>(w);
  const std::int64_t next = workers_[at].forwards_begun, k = next / in_.microbatches;
  if (!endless_ && k == in_.minibatches) return false;
  if (w > 0) return workers_[at - 1].forwards_done > next;
  return next % in_.microbatches != 0 || k - workers_[0].backwards_done < in_.busy.in_flight;
}

std::optional<ComputeInstruction> ListScheduler::next_of(int w) const {
  const Worker& worker = workers_[static_cast<std::size_t>(w)];
  if (worker.runs != Runs::Nothing) return {};
  if (backward_is_ready(w))
    return backward({w}, static_cast<int>(worker.backwards_begun) * in_.microbatches);
  if (forward_is_ready(w)) return forward({w}, static_cast<int>(worker.forwards_begun));
  return {};
}

ComputeInstruction ListScheduler::begin(ComputeInstruction next) {
  const int w = next.stage().value;
  Worker& worker = workers_[static_cast<std::size_t>(w)];
  const bool runs_forward = next.op() == Op::Forward;
  ++(runs_forward ? worker.forwards_begun : worker.backwards_begun);
  worker.runs = runs_forward ? Runs::Forward : Runs::Backward;
  worker.end = now_ + (runs_forward ? in_.busy.forward : in_.busy.backward);
  ends_.push({worker.end, w});
  return next;
}

void ListScheduler::finish(int w) {
  Worker& worker = workers_[static_cast<std::size_t>(w)];
  ++(worker.runs == Runs::Forward ? worker.forwards_done : worker.backwards_done);
  worker.runs = Runs::Nothing;
}

std::set<int> ListScheduler::next_event() {
  std::set<int> free;
  if (ends_.empty()) return free;
  now_ = ends_.top().first;
  for (; !ends_.empty() && ends_.top().first == now_; ends_.pop()) {
    const int w = ends_.top().second;
    const int reader = workers_[static_cast<std::size_t>(w)].runs == Runs::Forward ? w + 1 : w - 1;
    finish(w);
    free.insert(w);
    if (reader >= 0 && reader < in_.stages) free.insert(reader);
  }
  return free;
}

}  // namespace pipetrain
