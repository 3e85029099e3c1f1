// A device that does everything late, in an order that a seed decides: streams are lists of work
// that move on, one at a time, whenever a thread asks whether a fence has passed. No threads of its
// own, and usable from several.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "backend/stream.hpp"
#include "base/error.hpp"

namespace fake {

class FakeStream;

class Device {
 public:
  explicit Device(unsigned seed = 1) : random_(seed) {}

  // Some stream does the next thing on its list. False if none can.
  bool advance() {
    const std::lock_guard lock(mutex);
    return step();
  }
  void run_dry() {
    while (advance()) {
    }
  }
  std::unique_ptr<FakeStream> make_stream();

  std::atomic<bool> gone = false;  // then asking a fence throws, every time
  // The stream that the thread called last: its device is the thread's.
  static inline thread_local const FakeStream* current = nullptr;

  std::mutex mutex;  // guards all that is on streams, and what runs there

 private:
  friend class FakeStream;
  friend class FakeFence;
  bool step();

  std::vector<FakeStream*> streams_;
  std::mt19937 random_;
};

class FakeFence final : public pipetrain::Fence {
 public:
  explicit FakeFence(Device& device) : device_(device) {}
  bool passed() const override {
    if (device_.gone) throw pipetrain::DeviceError("the device is gone");
    const std::lock_guard lock(device_.mutex);
    for (auto steps = device_.random_() % 3; steps > 0; --steps) device_.step();
    return *mark;
  }
  void wait() const override {
    while (!passed()) device_.advance();
  }

  std::shared_ptr<bool> mark = std::make_shared<bool>(true);

 private:
  Device& device_;
};

class FakeStream final : public pipetrain::Stream {
 public:
  using Work = std::function<bool()>;  // false: not yet, try again

  explicit FakeStream(Device& device) : device_(device) {
    const std::lock_guard lock(device_.mutex);
    device_.streams_.push_back(this);
  }
  ~FakeStream() override {
    const std::lock_guard lock(device_.mutex);
    std::erase(device_.streams_, this);
  }

  void enqueue(Work work) {
    const std::lock_guard lock(device_.mutex);
    work_.push_back(std::move(work));
  }
  void enqueue_locked(Work work) { work_.push_back(std::move(work)); }
  void run(std::function<void()> work) {
    enqueue([work = std::move(work)] { return work(), true; });
  }
  bool idle() const {
    const std::lock_guard lock(device_.mutex);
    return work_.empty();
  }

  bool asynchronous() const override { return true; }
  int device() const override { return 0; }
  bool reaches(const pipetrain::Stream&) const override { return true; }
  void* allocate(std::size_t bytes) override {
    memory_.push_back(std::make_unique<std::byte[]>(bytes));
    return memory_.back().get();
  }
  void release(void* memory) noexcept override {
    std::erase_if(memory_, [memory](const auto& block) { return block.get() == memory; });
  }
  void* allocate_results(std::size_t bytes) override { return allocate(bytes); }
  void release_results(void* memory) noexcept override { release(memory); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    run([=] { std::memcpy(to, from, bytes); });
  }
  void write(void* to, const void* host, std::size_t bytes) override {
    const auto* const begin = static_cast<const std::byte*>(host);
    run([to, kept = std::vector(begin, begin + bytes)] {
      std::memcpy(to, kept.data(), kept.size());
    });
  }
  void clear(void* memory, std::size_t bytes) override {
    run([=] { std::memset(memory, 0, bytes); });
  }
  std::unique_ptr<pipetrain::Fence> make_fence() override {
    Device::current = this;
    return std::make_unique<FakeFence>(device_);
  }
  void record(pipetrain::Fence& fence) override {
    Device::current = this;
    const auto mark = std::make_shared<bool>(false);
    const std::lock_guard lock(device_.mutex);
    dynamic_cast<FakeFence&>(fence).mark = mark;
    work_.push_back([mark] { return *mark = true; });
  }
  void wait(const pipetrain::Fence& fence) override {
    Device::current = this;
    const std::lock_guard lock(device_.mutex);
    work_.push_back([mark = dynamic_cast<const FakeFence&>(fence).mark] { return *mark; });
  }
  void finish() override {
    while (!idle()) device_.advance();
  }

  void read(void*, const void*, std::size_t) override { std::abort(); }
  void apply(const pipetrain::UpdateRule&, const pipetrain::UpdateArguments&) override {
    std::abort();
  }
  void combine(const pipetrain::Combination&) override { std::abort(); }
  void add_up(const pipetrain::Summation&) override { std::abort(); }
  void sum_of_squares(const float*, std::int64_t, double*) override { std::abort(); }
  double seconds_between(const pipetrain::Fence&, const pipetrain::Fence&) const override {
    return 0;
  }

 private:
  friend class Device;
  Device& device_;
  std::deque<Work> work_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;  // freed with the stream if not before
};

inline std::unique_ptr<FakeStream> Device::make_stream() {
  return std::make_unique<FakeStream>(*this);
}

inline bool Device::step() {
  const std::size_t count = streams_.size();
  for (std::size_t i = 0, first = count ? random_() % count : 0; i < count; ++i) {
    auto& work = streams_[(first + i) % count]->work_;
    if (work.empty() || !work.front()()) continue;
    work.pop_front();
    return true;
  }
  return false;
}

}  // namespace fake
