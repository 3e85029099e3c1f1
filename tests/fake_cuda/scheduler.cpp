// Which operation runs next: what the host waits for, what it does not, or any.
#include "fake_cuda/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "fake_cuda/memory.hpp"
#include "fake_cuda/world.hpp"

namespace fake_cuda {
namespace {

bool runnable(const Queue& queue) {
  if (queue.waiting.empty()) return false;
  const Operation& head = queue.waiting.front();
  return (!head.awaited || head.awaited->passed) && (!head.ready || head.ready());
}

}  // namespace

Queue* Scheduler::open(int device) {
  auto& queue = queues_.emplace_back(std::make_unique<Queue>());
  queue->device = device;
  queue->ordinal = queues_.size() - 1;
  return queue.get();
}

void Scheduler::push(Queue& queue, Operation operation) {
  queue.waiting.push_back(std::move(operation));
  ++queue.enqueued;
  if (order_ == Order::AtOnce) run_until(queue, queue.enqueued);
  if (order_ != Order::Random) return;
  for (auto count = random_() % 3; count > 0; --count)  // a device does not wait for the host
    if (Queue* const next = random_runnable(nullptr)) run_head(*next);
}

bool Scheduler::run_until(Queue& queue, std::uint64_t position) {
  while (queue.done < position) {
    Queue* const next = pick(queue);
    if (!next) return false;
    run_head(*next);
  }
  return true;
}

void Scheduler::run_all() {
  while (Queue* const next = random_runnable(nullptr)) run_head(*next);
}

void Scheduler::poll(Queue& queue, std::uint64_t position) {
  for (auto count = random_() % 4; count > 0 && queue.done < position; --count)
    if (Queue* const next = pick(queue)) run_head(*next);
}

Queue* Scheduler::pick(Queue& goal) {
  if (order_ == Order::Random) return random_runnable(nullptr);
  Queue* const own = needed(goal);
  if (order_ == Order::OthersFirst)
    if (Queue* const other = random_runnable(own)) return other;
  return own;
}

// The stream whose head must run before the goal's can; none: it waits for another thread.
Queue* Scheduler::needed(Queue& goal) const {
  Queue* queue = &goal;
  while (!queue->waiting.empty()) {
    const auto& mark = queue->waiting.front().awaited;
    if (!mark || mark->passed) return runnable(*queue) ? queue : nullptr;
    queue = mark->queue;
  }
  return nullptr;
}

Queue* Scheduler::random_runnable(const Queue* except) {
  std::vector<Queue*> candidates;
  for (const auto& queue : queues_)
    if (queue.get() != except && runnable(*queue)) candidates.push_back(queue.get());
  return candidates.empty() ? nullptr : candidates[random_() % candidates.size()];
}

void Scheduler::run_head(Queue& queue) {
  const Operation operation = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  queue.clock.join(operation.host);
  if (operation.awaited) {
    if (queue.clock.covers(operation.awaited->clock))
      world().event_waits[operation.wait].effect = EventWait::Effect::KnownBefore;
    queue.clock.join(operation.awaited->clock);
  }
  queue.clock.set(queue.ordinal, queue.clock.of(queue.ordinal) + 1);
  ns_ += 1000;
  if (operation.work) {
    running_ = &queue;
    operation_ = &operation;
    world().memory.begin_operation(queue, operation.what);
    operation.work();
    world().memory.end_operation();
    running_ = nullptr;
    operation_ = nullptr;
  }
  ++queue.done;
  if (!operation.recorded) return;
  operation.recorded->passed = true;
  operation.recorded->clock = queue.clock;
  operation.recorded->ns = ns_;
}

bool Scheduler::waits_for_peer(int device) const {
  return std::any_of(queues_.begin(), queues_.end(), [device](const auto& queue) {
    if (queue->device != device || queue->waiting.empty()) return false;
    const Operation& head = queue->waiting.front();
    return head.ready && (!head.awaited || head.awaited->passed) && !head.ready();
  });
}

std::string Scheduler::contents() const {
  std::string text;
  for (const auto& queue : queues_) {
    if (queue->waiting.empty()) continue;
    text += "\n  stream " + std::to_string(queue->ordinal) + " of device " +
            std::to_string(queue->device) + ":";
    for (std::size_t i = 0; i < queue->waiting.size() && i < 8; ++i)
      text += " [" + queue->waiting[i].what + "]";
    if (queue->waiting.size() > 8)
      text += " and " + std::to_string(queue->waiting.size() - 8) + " more";
  }
  return text;
}

}  // namespace fake_cuda
