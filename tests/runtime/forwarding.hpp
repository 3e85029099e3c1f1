// A stream around a real one, for backends that tests put around real ones: forwards every call.
#pragma once

#include <memory>
#include <utility>

#include "backend/backend.hpp"

namespace pipetrain::testing {

class ForwardingStream : public Stream {
 public:
  explicit ForwardingStream(std::unique_ptr<Stream> real) : real_(std::move(real)) {}
  // What the real backend's kernels must be given.
  static Stream& real(Stream& stream) { return *static_cast<ForwardingStream&>(stream).real_; }
  template <class Arguments>
  static Arguments with_real(Arguments arguments) {
    arguments.stream = &real(*arguments.stream);
    return arguments;
  }

  bool asynchronous() const override { return real_->asynchronous(); }
  int device() const override { return real_->device(); }
  bool reaches(const Stream& other) const override {
    return real_->reaches(*static_cast<const ForwardingStream&>(other).real_);
  }
  void* allocate(std::size_t bytes) override { return real_->allocate(bytes); }
  void release(void* memory) noexcept override { real_->release(memory); }
  void* allocate_results(std::size_t bytes) override { return real_->allocate_results(bytes); }
  void release_results(void* memory) noexcept override { real_->release_results(memory); }
  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    real_->apply(rule, arguments);
  }
  void combine(const Combination& combination) override { real_->combine(combination); }
  void add_up(const Summation& summation) override { real_->add_up(summation); }
  void sum_of_squares(const float* values, std::int64_t n, double* result) override {
    real_->sum_of_squares(values, n, result);
  }
  void clear(void* memory, std::size_t bytes) override { real_->clear(memory, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    real_->copy(to, from, bytes);
  }
  void write(void* to, const void* host, std::size_t bytes) override {
    real_->write(to, host, bytes);
  }
  void read(void* host, const void* from, std::size_t bytes) override {
    real_->read(host, from, bytes);
  }
  std::unique_ptr<Fence> make_fence() override { return real_->make_fence(); }
  std::unique_ptr<Fence> make_timed_fence() override { return real_->make_timed_fence(); }
  void record(Fence& fence) override { real_->record(fence); }
  void wait(const Fence& fence) override { real_->wait(fence); }
  double seconds_between(const Fence& begin, const Fence& end) const override {
    return real_->seconds_between(begin, end);
  }
  void finish() override { real_->finish(); }

 private:
  std::unique_ptr<Stream> real_;
};

}  // namespace pipetrain::testing
