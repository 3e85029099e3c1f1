// Stacks are switched by setjmp and longjmp, 20 times as fast as swapcontext, which asks the
// operating system each time. The sanitizers' builds use swapcontext and report each switch to the
// sanitizer.
#undef _FORTIFY_SOURCE  // jumps between stacks are meant

#include "fake_cuda/fiber.hpp"

#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace fake_cuda {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;  // untouched pages cost nothing

Fiber* entered = nullptr;

}  // namespace

Fiber::Fiber()
    : stack_(
          mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_;
  own_.uc_stack.ss_size = kStackBytes;
  makecontext(&own_, begin, 0);
#ifdef __SANITIZE_THREAD__
  sanitizer_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(sanitizer_);
#endif
  munmap(stack_, kStackBytes);
}

#if defined(__SANITIZE_ADDRESS__)
namespace {
const void* host_stack = nullptr;
std::size_t host_stack_bytes = 0;
}  // namespace

void Fiber::begin() {
  __sanitizer_finish_switch_fiber(nullptr, &host_stack, &host_stack_bytes);
  entered->body();
}
void Fiber::enter() {
  entered = this;
  void* host = nullptr;
  __sanitizer_start_switch_fiber(&host, stack_, kStackBytes);
  swapcontext(&host_, &own_);
  __sanitizer_finish_switch_fiber(host, nullptr, nullptr);
}
void Fiber::leave() {
  __sanitizer_start_switch_fiber(&sanitizer_, host_stack, host_stack_bytes);
  swapcontext(&own_, &host_);
  __sanitizer_finish_switch_fiber(sanitizer_, &host_stack, &host_stack_bytes);
}
#elif defined(__SANITIZE_THREAD__)
namespace {
void* host_fiber = nullptr;
}

void Fiber::begin() { entered->body(); }
void Fiber::enter() {
  entered = this;
  host_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizer_, 0);
  swapcontext(&host_, &own_);
}
void Fiber::leave() {
  __tsan_switch_to_fiber(host_fiber, 0);
  swapcontext(&own_, &host_);
}
#else
void Fiber::begin() { entered->body(); }
void Fiber::enter() {
  if (_setjmp(host_place_)) return;
  entered = this;
  if (begun_) _longjmp(own_place_, 1);
  begun_ = true;
  setcontext(&own_);
}
void Fiber::leave() {
  if (!_setjmp(own_place_)) _longjmp(host_place_, 1);
}
#endif

}  // namespace fake_cuda
