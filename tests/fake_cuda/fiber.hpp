// A stack of its own to run on, entered and left again, by one host thread at a time.
#pragma once

#include <ucontext.h>

#include <csetjmp>

namespace fake_cuda {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void (*body)() = nullptr;  // never returns

  void enter();  // from the host thread's stack: runs until the fiber leaves
  void leave();  // from the fiber: back to where it was entered

 private:
  static void begin();

  void* stack_;
  bool begun_ = false;
  [[maybe_unused]] ucontext_t own_{}, host_{};
  jmp_buf own_place_, host_place_;
  [[maybe_unused]] void* sanitizer_ = nullptr;  // what it keeps of this fiber
};

}  // namespace fake_cuda
