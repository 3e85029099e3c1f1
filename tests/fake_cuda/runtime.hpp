// A CUDA that runs on the CPU, for tests: what tests and fake_cuda/language.hpp ask of it beyond
// CUDA's own functions.
//
// Nothing runs when it is enqueued. Operations run when the host waits or polls, in an order that
// the streams and their event waits allow and that `Options` make as unkind as it can be. Whatever
// touches memory out of order is reported (take_findings), and mostly shows in the results as well:
// fresh and freed memory is full of NaN.
//
// Threading: any function from any thread; one lock serialises all of them, and kernels too.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fake_cuda {

// A kernel's launch: `work` runs the whole grid, later. False if a launch would fail
// (cudaGetLastError then gives the reason).
bool enqueue(cudaStream_t stream, const char* what, std::function<void()> work);

// The same for an operation that cannot begin before `ready` says so (a rendezvous of streams).
bool enqueue_when(cudaStream_t stream, const char* what, std::function<bool()> ready,
                  std::function<void()> work);

// Which thread of a running kernel the accesses from here on belong to, and how many
// __syncthreads() it has passed: with this, kernels are checked for races among their own threads.
// Block and thread count from 0, dimensions flattened. Called by fake_cuda/language.cpp.
void at_thread(std::int64_t block, int thread, int syncs);
// Where the running block's __shared__ arrays are: checked likewise.
void shared_memory(const void* memory, std::size_t bytes);

// Within an operation's work: declares the bytes that it reads or writes, if nothing else can know
// them.
void reads(const void* memory, std::size_t bytes);
void writes(const void* memory, std::size_t bytes);

enum class Order {
  AtOnce,       // whatever is enqueued runs at once: what the results are compared with
  Lazy,         // only what the host waits for
  Random,       // any valid order
  OthersFirst,  // what the host does not wait for comes first, as far as it can go
};

struct Options {
  Order order = Order::Lazy;
  std::uint64_t seed = 1;
  int devices = 2;
  std::size_t device_bytes = std::size_t{4} << 30;  // of each device; cudaMalloc fails beyond
  bool peers = true;                                // cudaDeviceCanAccessPeer says yes
  int cudnn_refusal = 0;  // what cuDNN says of all algorithms but those that it advises; 0: good
  bool cudnn_advises = true;  // one algorithm for each pass that is good for us
  bool check_races = true;
  double deadlock_seconds = 10;  // reported if a host thread waits this long with nothing to run
};

// Runs all that is left, forgets everything but the findings (streams and memory that are still
// live become invalid) and starts afresh.
void set(const Options& options);

// Runs all that is left, and says what was done wrong since the last call: races, accesses out of
// bounds, of freed memory and of what was never written. Findings that are not taken are printed at
// the program's end, which then fails.
std::vector<std::string> take_findings();

// Since set():
std::int64_t host_waits();  // calls in which the host waits for a device, or on a GPU might
std::int64_t operations();  // enqueued, waits and records included
std::int64_t calls();       // the ones that fail_call counts: CUDA, cuDNN, cuBLASLt and launches,
                            // except calls that only free something or ask for errors
std::size_t device_bytes_in_use(int device);
std::size_t live_allocations();  // on devices, and pinned

// A call of cudaStreamWaitEvent since set(), and what it is good for.
struct EventWait {
  enum class Effect {
    Orders,       // the stream now runs after work that it might have overtaken
    NeverBefore,  // nothing has been recorded in the event yet
    KnownBefore,  // the stream was ordered after that record already
  };
  std::string what;  // which stream waits for which
  Effect effect = Effect::Orders;
};
std::vector<EventWait> event_waits();

// The n-th call from here on, counted from 1, fails; if sticky, so do all calls after it.
void fail_call(std::int64_t n, bool sticky = false);
bool call_failed();  // has the failure happened?
// The n-th cudaStreamWaitEvent from here on, counted from 1, is ignored.
void ignore_wait(std::int64_t n);

}  // namespace fake_cuda
