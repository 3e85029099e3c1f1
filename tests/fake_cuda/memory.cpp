// Blocks of memory in one reserved range of addresses, which is larger than any machine's memory.
#include "fake_cuda/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "fake_cuda/scheduler.hpp"
#include "fake_cuda/world.hpp"

namespace fake_cuda {
namespace {

constexpr std::size_t arena_bytes = std::size_t{1} << 38;  // of addresses, not of memory
constexpr std::size_t alignment = 256, page = 4096;
constexpr std::size_t buried_bytes_most = std::size_t{64} << 20;
constexpr std::size_t pinned_bytes_spoilt = std::size_t{1} << 20;
constexpr int garbage = 0xff;  // NaN as float and as double, -1 as an integer

std::uintptr_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }
void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

void spoil(const Memory::Block& block) {
  const bool ring = block.device == Memory::host && block.bytes > pinned_bytes_spoilt;
  std::memset(pointer(block.begin), garbage, ring ? pinned_bytes_spoilt : block.bytes);
}

std::uintptr_t round_up(std::uintptr_t value, std::size_t to) { return (value + to - 1) / to * to; }

}  // namespace

Memory::Memory() : done_(1), readers_(1) {
  void* const arena = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) throw std::bad_alloc();
  arena_ = next_ = round_up(address(arena), alignment);
}

Memory::~Memory() { munmap(pointer(arena_), arena_bytes); }

Memory::Block& Memory::allocate(int device, std::size_t bytes) {
  const std::uintptr_t begin = next_;
  next_ = round_up(begin + bytes, alignment) + alignment;
  Block& block = blocks_[begin];
  block.begin = begin;
  block.bytes = bytes;
  block.device = device;
  spoil(block);
  return block;
}

void Memory::free(Block& block, const Clock& host) {
  for (std::size_t word = 0; word < block.words.size(); ++word) {
    const Word& last = block.words[word];
    if (last.writer && !ordered(last.writer, host))
      return race(block, word, "the host frees", last.writer, "wrote it"), bury(block);
    if (last.reader && !(last.reader & several) && !ordered(last.reader, host))
      return race(block, word, "the host frees", last.reader, "read it"), bury(block);
  }
  bury(block);
}

// Freed memory keeps its NaN for a while; then the machine gets it back.
void Memory::bury(Block& block) {
  block.live = false;
  std::vector<Word>().swap(block.words);  // "= {}" would keep its memory
  spoil(block);
  buried_.push_back(block.begin);
  buried_bytes_ += block.bytes;
  if (buried_bytes_ < buried_bytes_most) return;
  for (const std::uintptr_t begin : buried_) {
    const std::uintptr_t first = round_up(begin, page);
    const std::uintptr_t last = (begin + blocks_[begin].bytes) / page * page;
    if (first < last) madvise(pointer(first), last - first, MADV_DONTNEED);
  }
  buried_.clear();
  buried_bytes_ = 0;
}

bool Memory::is_ours(const void* memory) const {
  return address(memory) >= arena_ && address(memory) < next_;
}

Memory::Block* Memory::find(const void* memory) {
  if (!is_ours(memory)) return nullptr;
  auto next = blocks_.upper_bound(address(memory));
  if (next == blocks_.begin()) return nullptr;
  Block& block = std::prev(next)->second;
  return address(memory) < block.begin + std::max<std::size_t>(block.bytes, 1) ? &block : nullptr;
}

bool Memory::holds(const void* memory, std::size_t bytes) {
  const Block* const block = find(memory);
  return block && block->live && address(memory) + bytes <= block->begin + block->bytes;
}

std::size_t Memory::bytes_in_use(int device) const {
  std::size_t sum = 0;
  for (const auto& [begin, block] : blocks_)
    if (block.live && block.device == device) sum += block.bytes;
  return sum;
}

std::size_t Memory::live_blocks() const {
  return static_cast<std::size_t>(std::count_if(
      blocks_.begin(), blocks_.end(), [](const auto& entry) { return entry.second.live; }));
}

}  // namespace fake_cuda
