// Races among the threads of one kernel: two accesses to one place, one of them a write, by two
// threads with no __syncthreads() of theirs in between. Places are known by their first byte: the
// elements of an array have one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace fake_cuda {

class KernelThreads {
 public:
  void clear();
  void at(std::int64_t block, int thread, int syncs);
  void share(std::uintptr_t begin, std::size_t bytes) { shared_ = begin, shared_bytes_ = bytes; }
  bool shares(std::uintptr_t place) const { return place - shared_ < shared_bytes_; }
  bool known() const { return at_.block >= 0; }
  std::int64_t block() const { return at_.block; }
  int thread() const { return at_.thread; }

  // True: this access races. `shared`: the running block's own memory, not the device's.
  bool read(std::uintptr_t place, bool shared);
  bool write(std::uintptr_t place, bool shared);

 private:
  struct At {
    std::int64_t block = -1;
    int thread = -1, syncs = 0;
  };
  struct Place {
    At writer, reader;
    bool many_readers = false, many_blocks = false;  // read by others than `reader`, since its sync
  };

  bool clash(const At& earlier, bool shared) const;

  At at_;
  std::uintptr_t shared_ = 0;
  std::size_t shared_bytes_ = 0;
  std::unordered_map<std::uintptr_t, Place> places_;
};

}  // namespace fake_cuda
