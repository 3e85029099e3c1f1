// The memory of all devices, and the pinned memory of the host: where each block is, and which
// operation last wrote and read each word of it, so that accesses that nothing orders are found.
//
// Addresses are never used twice. Fresh and freed memory is full of NaN; of large pinned blocks,
// rings of which tests use little, only the beginning is. Only called with the lock of
// fake_cuda/world.hpp held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fake_cuda/clock.hpp"
#include "fake_cuda/kernel_threads.hpp"

namespace fake_cuda {

struct Queue;

enum class Access { Read, Write, Copy };  // Copy: reads, but may read what was never written

class Memory {
 public:
  static constexpr int host = -1;  // the device of pinned memory

  static constexpr std::uint32_t several = std::uint32_t{1} << 31;

  struct Word {  // operations by number; readers: one, or `several` and an index
    std::uint32_t writer = 0, reader = 0;
  };
  struct Block {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    int device = host;
    bool live = true;         // not yet freed
    std::vector<Word> words;  // as far as any has been touched
  };

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Block& allocate(int device, std::size_t bytes);
  // By the host, which has waited for what its clock says.
  void free(Block& block, const Clock& host);

  Block* find(const void* memory);                    // the one that holds that address
  bool holds(const void* memory, std::size_t bytes);  // all of it in one live block
  bool is_ours(const void* memory) const;             // an address in or between our blocks
  void access(const void* memory, std::size_t bytes, Access how);
  void race_in_kernel(const void* place);  // between two threads of the running kernel

  void begin_operation(const Queue& queue, const std::string& what);
  void end_operation();
  void reach_everything() { reaches_ = true; }  // this operation needs no peer access
  KernelThreads& threads() { return threads_; }

  std::size_t bytes_in_use(int device) const;
  std::size_t live_blocks() const;

 private:
  struct Done {  // an operation that has run
    std::size_t stream = 0;
    std::uint32_t count = 0;
    const std::string* what = nullptr;
  };

  bool ordered(std::uint32_t operation, const Clock& clock) const {
    return done_[operation].count <= clock.of(done_[operation].stream);
  }
  void check_block(Block& block);
  void read(const Block& block, std::size_t word, bool copy);
  void write(const Block& block, std::size_t word);
  void race(const Block& block, std::size_t word, const char* now, std::uint32_t other,
            const char* before);
  std::string name(std::uint32_t operation) const;
  std::string place(const Block& block, std::size_t byte) const;
  void bury(Block& block);

  std::uintptr_t arena_ = 0, next_ = 0;
  std::map<std::uintptr_t, Block> blocks_;
  std::vector<std::uintptr_t> buried_;  // freed blocks whose memory is still held
  std::size_t buried_bytes_ = 0;
  std::vector<Done> done_;
  std::unordered_set<std::string> names_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::uint32_t current_ = 0;
  const Queue* queue_ = nullptr;
  Block *last_ = nullptr, *checked_ = nullptr;
  bool reaches_ = false;
  std::pair<std::uint32_t, std::uint32_t> reported_;  // the last two operations that raced
  KernelThreads threads_;
};

}  // namespace fake_cuda
