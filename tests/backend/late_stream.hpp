// A stream that falls as far behind as a test wants: it logs what it is asked for, and does it when
// the test lets it continue.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backend/stream.hpp"

namespace pipetrain::testing {

// What all streams of a test were asked for, in order: "a: record 1".
using Log = std::vector<std::string>;

class LateStream : public Stream {
 public:
  LateStream(std::string name, Log& log, int device = 0)
      : name_(std::move(name)), log_(log), device_(device) {}

  void go_on() {  // does all that it has been asked for
    while (!later_.empty()) {
      later_.front()();
      later_.pop_front();
    }
  }
  void later(std::function<void()> work) { later_.push_back(std::move(work)); }

  bool asynchronous() const override { return true; }
  int device() const override { return device_; }
  bool reaches(const Stream&) const override { return true; }
  void* allocate(std::size_t bytes) override { return std::calloc(1, bytes); }
  void release(void* memory) noexcept override { std::free(memory); }
  void* allocate_results(std::size_t bytes) override { return std::calloc(1, bytes ? bytes : 1); }
  void release_results(void* memory) noexcept override { std::free(memory); }
  void apply(const UpdateRule&, const UpdateArguments&) override {}
  void combine(const Combination&) override {}
  void add_up(const Summation&) override {}
  void sum_of_squares(const float*, std::int64_t, double*) override {}
  void clear(void* memory, std::size_t bytes) override {
    later([=] { std::memset(memory, 0, bytes); });
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    log_.push_back(name_ + ": copy");
    later([=] { std::memcpy(to, from, bytes); });
  }
  void write(void* to, const void* host, std::size_t bytes) override {
    std::memcpy(to, host, bytes);
  }
  void read(void* host, const void* from, std::size_t bytes) override {
    go_on();
    std::memcpy(host, from, bytes);
  }

  // Numbered from 1 in the order in which they are made.
  std::unique_ptr<Fence> make_fence() override {
    auto fence = std::make_unique<LateFence>();
    fence->number = ++fences_made_;
    fence->stream = this;
    return fence;
  }
  void record(Fence& fence) override {
    auto& late = static_cast<LateFence&>(fence);
    const int number = ++late.recorded;
    log_.push_back(fmt::format("{}: record {}{}", name_, name_of(late), late.number));
    later([&late, number] { late.reached = number; });
    late.seconds = ++clock_;
  }
  void wait(const Fence& fence) override {
    const auto& late = static_cast<const LateFence&>(fence);
    if (late.recorded > 0)
      log_.push_back(fmt::format("{}: wait {}{}", name_, name_of(late), late.number));
  }
  double seconds_between(const Fence& begin, const Fence& end) const override {
    return static_cast<const LateFence&>(end).seconds -
           static_cast<const LateFence&>(begin).seconds;
  }
  void finish() override { go_on(); }

 private:
  struct LateFence final : Fence {
    LateStream* stream = nullptr;
    int number = 0, recorded = 0, reached = 0;
    double seconds = 0;  // the clock advances by one with each record of the stream
    bool passed() const override { return reached == recorded; }
    void wait() const override { stream->go_on(); }
  };
  static std::string name_of(const LateFence& fence) { return fence.stream->name_; }

  std::string name_;
  Log& log_;
  int device_;
  std::deque<std::function<void()>> later_;
  int fences_made_ = 0;
  double clock_ = 0;
};

}  // namespace pipetrain::testing
