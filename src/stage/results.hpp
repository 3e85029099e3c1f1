// Memory that a stream writes results to and the host reads; freed with its owner.
#pragma once

#include <cstddef>

#include "backend/stream.hpp"

namespace pipetrain {

template <class T>
class Results {
 public:
  Results(Stream& stream, std::size_t count)
      : stream_(stream), values_(static_cast<T*>(stream.allocate_results(count * sizeof(T)))) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    try {
      stream_.finish();  // nothing may be written after this
    } catch (...) {      // what failed has been reported, or will be by another call
    }
    stream_.release_results(values_);
  }

  T* data() const { return values_; }

 private:
  Stream& stream_;
  T* values_;
};

}  // namespace pipetrain
