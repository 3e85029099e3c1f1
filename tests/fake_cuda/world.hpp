// All of the fake's state behind its one lock, and what every call of CUDA's does first: take the
// lock, count, fail if it was told to, remember the error.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fake_cuda/faults.hpp"
#include "fake_cuda/memory.hpp"
#include "fake_cuda/runtime.hpp"
#include "fake_cuda/scheduler.hpp"

struct CUstream_st {
  fake_cuda::Queue* queue = nullptr;
};

struct CUevent_st {
  int device = 0;
  bool timed = true;
  std::shared_ptr<fake_cuda::Mark> mark;  // of the last record; null before it
};

namespace fake_cuda {

struct World {
  explicit World(const Options& chosen);

  Options options;
  Scheduler scheduler;
  Memory memory;
  Faults faults;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<std::pair<int, int>> peers;  // {a, b}: a's streams may touch b's memory
  std::int64_t host_waits = 0, operations = 0;
  std::vector<EventWait> event_waits;
  Clock host;  // what any thread has waited for
  std::vector<std::string> findings;
  std::uint64_t epoch = 0;  // counts set()
};

// What CUDA keeps for one host thread.
struct Thread {
  std::uint64_t epoch = 0;
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  const char* cudnn_error = "";  // what cudnnGetLastErrorString will say
  Clock host;                    // what it has seen by polling
};

World& world();    // with the lock held
Thread& thread();  // likewise
std::unique_lock<std::mutex> lock();

void found(const std::string& what);

cudaError_t remember(cudaError_t error);

// Every call that may fail goes through here: `fault` is how it fails if it was told to.
template <class Status, class Work>
Status call(Status fault, Work work) {
  const auto held = lock();
  return world().faults.fires() ? fault : work();
}

template <class Work>
cudaError_t runtime_call(Work work, cudaError_t fault = cudaErrorUnknown) {
  const auto held = lock();
  return remember(world().faults.fires() ? fault : work());
}

// Calls that only free something never fail on command.
template <class Work>
cudaError_t freeing_call(Work work) {
  const auto held = lock();
  return remember(work());
}

// False for null, foreign and destroyed streams.
bool is_open(cudaStream_t stream);
// Asks for an operation in that stream, after what the calling thread has waited for.
void push(cudaStream_t stream, Operation operation);
// The host waits; `held` is released while nothing can run. At a deadlock throws std::runtime_error
// with the queues' contents.
void wait_for(std::unique_lock<std::mutex>& held, Queue& queue, std::uint64_t position);

}  // namespace fake_cuda
