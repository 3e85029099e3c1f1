// The one instance of the fake's state, its lock, and what tests ask of it.
#include "fake_cuda/world.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace fake_cuda {
namespace {

constexpr std::size_t findings_most = 50;

struct Everything {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t epochs = 0;
  std::unique_ptr<World> world;
  std::vector<std::set<cudaStream_t>> old_streams;  // kept so that no new one has their addresses
  std::vector<std::set<cudaEvent_t>> old_events;
};

// Never destroyed: other statics may free device memory at the program's end.
Everything& everything() {
  static Everything& all = *new Everything;
  return all;
}

void report_at_the_end() {
  const auto left = take_findings();
  for (const auto& finding : left) std::fprintf(stderr, "fake CUDA: %s\n", finding.c_str());
  if (left.empty()) return;
  std::fflush(nullptr);
  std::_Exit(70);
}

void begin(const Options& options) {
  Everything& all = everything();
  if (all.epochs == 0) std::atexit(report_at_the_end);
  std::vector<std::string> findings;
  if (all.world) {
    all.world->scheduler.run_all();
    findings = std::move(all.world->findings);
    all.old_streams.push_back(std::move(all.world->streams));
    all.old_events.push_back(std::move(all.world->events));
  }
  all.world.reset();
  all.world = std::make_unique<World>(options);
  all.world->findings = std::move(findings);
  all.world->epoch = ++all.epochs;
}

}  // namespace

World::World(const Options& chosen) : options(chosen), scheduler(chosen.order, chosen.seed) {}

std::unique_lock<std::mutex> lock() {
  std::unique_lock held(everything().mutex);
  if (!everything().world) begin({});
  return held;
}

World& world() { return *everything().world; }

Thread& thread() {
  thread_local Thread mine;
  if (mine.epoch != world().epoch) {
    mine = {};
    mine.epoch = world().epoch;
  }
  return mine;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) thread().last_error = error;
  return error;
}

void found(const std::string& what) {
  auto& findings = world().findings;
  const bool known = std::find(findings.begin(), findings.end(), what) != findings.end();
  if (!known && findings.size() < findings_most) findings.push_back(what);
}

bool is_open(cudaStream_t stream) {
  return stream && world().streams.contains(stream) && !stream->queue->closed;
}

void push(cudaStream_t stream, Operation operation) {
  ++world().operations;
  operation.host = thread().host;
  operation.host.join(world().host);
  world().scheduler.push(*stream->queue, std::move(operation));
  everything().changed.notify_all();
}

void wait_for(std::unique_lock<std::mutex>& held, Queue& queue, std::uint64_t position) {
  const auto patience = std::chrono::duration<double>(world().options.deadlock_seconds);
  const auto progress = [&] { return world().scheduler.run_until(queue, position); };
  if (!progress() && !everything().changed.wait_for(held, patience, progress))
    throw std::runtime_error("fake CUDA: deadlock: the host waits for stream " +
                             std::to_string(queue.ordinal) +
                             ", and nothing can run:" + world().scheduler.contents());
  everything().changed.notify_all();
}

void set(const Options& options) {
  const std::lock_guard held(everything().mutex);
  begin(options);
}

std::vector<std::string> take_findings() {
  const auto held = lock();
  world().scheduler.run_all();
  return std::exchange(world().findings, {});
}

std::int64_t host_waits() {
  const auto held = lock();
  return world().host_waits;
}

std::int64_t operations() {
  const auto held = lock();
  return world().operations;
}

std::int64_t calls() {
  const auto held = lock();
  return world().faults.calls;
}

std::vector<EventWait> event_waits() {
  const auto held = lock();
  return world().event_waits;
}

std::size_t device_bytes_in_use(int device) {
  const auto held = lock();
  return world().memory.bytes_in_use(device);
}

std::size_t live_allocations() {
  const auto held = lock();
  return world().memory.live_blocks();
}

void fail_call(std::int64_t n, bool sticky) {
  const auto held = lock();
  Faults& faults = world().faults;
  faults.until_failure = n;
  faults.sticky = sticky;
  faults.failed = false;
}

bool call_failed() {
  const auto held = lock();
  return world().faults.failed;
}

void ignore_wait(std::int64_t n) {
  const auto held = lock();
  world().faults.until_ignored_wait = n;
}

}  // namespace fake_cuda
