// Values on a backend's device, for tests: copied there and back through a stream.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.hpp"

namespace pipetrain::testing {

class DeviceMemory {
 public:
  explicit DeviceMemory(Backend& backend) : stream_(backend.make_stream({})) {}
  ~DeviceMemory() {
    stream_->finish();
    for (void* block : blocks_) stream_->release(block);
    for (void* block : results_) stream_->release_results(block);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Stream& stream() const { return *stream_; }
  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    blocks_.push_back(stream_->allocate(bytes));
    return blocks_.back();
  }
  template <class T>
  T* results(std::size_t count) {
    results_.push_back(stream_->allocate_results(count * sizeof(T)));
    return static_cast<T*>(results_.back());
  }
  // Null if there are no values.
  template <class T>
  T* put(const std::vector<T>& values) {
    T* const memory = static_cast<T*>(take(values.size() * sizeof(T)));
    if (memory) stream_->write(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  std::vector<float> get(const void* memory, std::size_t count) {
    std::vector<float> values(count);
    if (count > 0) stream_->read(values.data(), memory, count * sizeof(float));
    return values;
  }

 private:
  std::unique_ptr<Stream> stream_;
  std::vector<void*> blocks_, results_;
};

}  // namespace pipetrain::testing
