// A grid on the CPU: block after block, the threads of a block as fibers.
//
// A fiber runs threads of its block one after the other, until one of them waits at a barrier; then
// another fiber takes those that have not begun. So a kernel without barriers runs on one fiber, at
// a loop's speed. When none is left to begin, all that wait continue, in another order.
#undef _FORTIFY_SOURCE  // jumps between stacks are meant

#include "fake_cuda/language.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fake_cuda/fiber.hpp"
#include "fake_cuda/runtime.hpp"

// Where all __shared__ arrays are; absent if no file has any.
extern "C" char __start_fake_cuda_shared[] __attribute__((weak));
extern "C" char __stop_fake_cuda_shared[] __attribute__((weak));

namespace fake_cuda {
namespace {

struct Runner {  // a fiber and the thread that it runs
  Fiber fiber;
  int thread = 0, syncs = 0;
  std::source_location waits_at;
};

struct Block {
  const std::function<void()>* thread = nullptr;
  std::int64_t index = 0;
  std::vector<int> to_begin;     // taken from the back
  std::vector<Runner*> waiting;  // at a barrier
  int left = 0;                  // threads that have returned
  std::exception_ptr thrown;     // by a thread
};

std::mutex one_grid;
std::minstd_rand shuffler;
Block block;
Runner* running = nullptr;
std::vector<std::unique_ptr<Runner>> runners;
std::vector<Runner*> idle;

void enter(Runner& runner) {
  threadIdx.x = static_cast<unsigned>(runner.thread);
  at_thread(block.index, runner.thread, runner.syncs);
}

void run_threads() {
  Runner& self = *running;
  for (;;) {
    while (!block.to_begin.empty()) {
      self.thread = block.to_begin.back();
      self.syncs = 0;
      block.to_begin.pop_back();
      enter(self);
      try {
        (*block.thread)();
      } catch (...) {
        block.thrown = std::current_exception();
      }
      ++block.left;
    }
    idle.push_back(&self);
    self.fiber.leave();
  }
}

void resume(Runner& runner) {
  running = &runner;
  runner.fiber.enter();
  running = nullptr;
}

Runner& idle_runner() {
  if (idle.empty()) {
    runners.push_back(std::make_unique<Runner>());
    runners.back()->fiber.body = run_threads;
    return *runners.back();
  }
  Runner& runner = *idle.back();
  idle.pop_back();
  return runner;
}

[[noreturn]] void fail(const char* what, const std::string& why) {
  std::string text = std::string(what) + ", block " + std::to_string(block.index) + ": " + why;
  block.waiting.clear();  // their runners are lost
  throw std::logic_error(text);
}

std::string place(const Runner& runner) {
  return "thread " + std::to_string(runner.thread) + " waits at " + runner.waits_at.file_name() +
         ":" + std::to_string(runner.waits_at.line());
}

// All threads of the block must wait at one barrier, or none.
void check_barrier(const char* what) {
  if (block.waiting.empty()) return;
  const Runner& first = *block.waiting[0];
  if (block.left > 0)
    fail(what, place(first) + ", but " + std::to_string(block.left) + " threads have returned");
  for (const Runner* other : block.waiting)
    if (other->waits_at.line() != first.waits_at.line())
      fail(what, place(first) + ", but " + place(*other));
}

void run_block(const char* what, int threads) {
  block.to_begin.resize(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) block.to_begin[static_cast<std::size_t>(i)] = i;
  std::shuffle(block.to_begin.begin(), block.to_begin.end(), shuffler);
  block.left = 0;
  while (!block.to_begin.empty()) resume(idle_runner());
  while (!block.waiting.empty()) {
    check_barrier(what);
    auto going_on = std::exchange(block.waiting, {});
    std::shuffle(going_on.begin(), going_on.end(), shuffler);
    for (Runner* runner : going_on) {
      ++runner->syncs;
      resume(*runner);
    }
  }
  if (block.thrown) std::rethrow_exception(std::exchange(block.thrown, nullptr));
}

// A block must find nothing useful in shared memory: it is filled with NaN.
void spoil_shared_memory() {
  if (!__start_fake_cuda_shared) return;
  const auto bytes = static_cast<std::size_t>(__stop_fake_cuda_shared - __start_fake_cuda_shared);
  shared_memory(__start_fake_cuda_shared, bytes);
  std::memset(__start_fake_cuda_shared, 0xff, bytes);
}

}  // namespace

void barrier(const std::source_location& where) {
  Runner& self = *running;
  self.waits_at = where;
  block.waiting.push_back(&self);
  self.fiber.leave();
  enter(self);
}

void run_grid(const char* what, int blocks, int threads, const std::function<void()>& thread) {
  const std::lock_guard lock(one_grid);
  gridDim = dim3(static_cast<unsigned>(blocks));
  blockDim = dim3(static_cast<unsigned>(threads));
  block.thread = &thread;
  std::vector<int> order(static_cast<std::size_t>(blocks));
  for (int i = 0; i < blocks; ++i) order[static_cast<std::size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), shuffler);
  for (const int index : order) {
    block.index = index;
    blockIdx.x = static_cast<unsigned>(index);
    spoil_shared_memory();
    run_block(what, threads);
  }
}

void launch(cudaStream_t stream, const char* what, int blocks, int threads,
            std::function<void()> thread) {
  enqueue(stream, what,
          [=, thread = std::move(thread)] { run_grid(what, blocks, threads, thread); });
}

void shuffle_threads(unsigned seed) {
  const std::lock_guard lock(one_grid);
  shuffler.seed(seed);
}

}  // namespace fake_cuda
