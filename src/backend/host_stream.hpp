// What the streams of host backends share: all memory is host memory, and calls do their work at
// once.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/stream.hpp"

namespace pipetrain {

class HostStream : public Stream {
 public:
  bool asynchronous() const final { return false; }
  int device() const final { return 0; }
  bool reaches(const Stream&) const final { return true; }

  void* allocate_results(std::size_t bytes) final {
    if (void* const memory = std::calloc(1, bytes)) return memory;
    throw std::bad_alloc();
  }
  void release_results(void* memory) noexcept final { std::free(memory); }

  void clear(void* memory, std::size_t bytes) final { std::memset(memory, 0, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) final { std::memcpy(to, from, bytes); }
  void write(void* to, const void* host, std::size_t bytes) final { std::memcpy(to, host, bytes); }
  void read(void* host, const void* from, std::size_t bytes) final {
    std::memcpy(host, from, bytes);
  }

  std::unique_ptr<Fence> make_fence() final { return std::make_unique<Passed>(); }
  void record(Fence&) final {}
  void wait(const Fence&) final {}
  double seconds_between(const Fence&, const Fence&) const final { return 0; }
  void finish() final {}

 private:
  struct Passed final : Fence {
    bool passed() const override { return true; }
    void wait() const override {}
  };
};

}  // namespace pipetrain
