// The check of every access: within a live block, of a device that may be reached, written before
// it is read, and ordered after whatever it must not overtake. Exact for the order of the
// operations' clocks, whichever order they happened to run in.
#include <algorithm>

#include "fake_cuda/memory.hpp"
#include "fake_cuda/scheduler.hpp"
#include "fake_cuda/world.hpp"

namespace fake_cuda {
namespace {

constexpr std::size_t word_bytes = 4;

}  // namespace

void Memory::begin_operation(const Queue& queue, const std::string& what) {
  queue_ = &queue;
  current_ = static_cast<std::uint32_t>(done_.size());
  done_.push_back({queue.ordinal, queue.clock.of(queue.ordinal), &*names_.insert(what).first});
  checked_ = nullptr;
  reaches_ = false;
  threads_.clear();
}

void Memory::end_operation() {
  queue_ = nullptr;
  current_ = 0;
}

void Memory::access(const void* memory, std::size_t bytes, Access how) {
  if (!current_ || bytes == 0 || !is_ours(memory)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  if (!last_ || begin < last_->begin || begin >= last_->begin + last_->bytes) last_ = find(memory);
  if (!last_ || begin + bytes > last_->begin + last_->bytes)
    return found(name(current_) + (how == Access::Write ? " writes " : " reads ") +
                 std::to_string(bytes) + " bytes that no block holds" +
                 (last_ ? ": from " + place(*last_, begin - last_->begin) : ""));
  Block& block = *last_;
  if (checked_ != last_) check_block(block);
  if (!world().options.check_races) return;
  const std::size_t first = (begin - block.begin) / word_bytes;
  const std::size_t last = (begin - block.begin + bytes - 1) / word_bytes;
  if (block.words.size() <= last) block.words.resize(last + 1);
  for (std::size_t word = first; word <= last; ++word)
    how == Access::Write ? write(block, word) : read(block, word, how == Access::Copy);
}

void Memory::check_block(Block& block) {
  checked_ = &block;
  if (!block.live) found(name(current_) + " uses freed memory: " + place(block, 0));
  if (block.device != host && block.device != queue_->device && !reaches_ &&
      !world().peers.contains({queue_->device, block.device}))
    found(name(current_) + " uses memory of device " + std::to_string(block.device) +
          " without peer access: " + place(block, 0));
}

void Memory::read(const Block& block, std::size_t index, bool copy) {
  Word& word = const_cast<Word&>(block.words[index]);
  if (word.reader == current_) return;
  if (!word.writer && !copy && block.device != host)
    found(name(current_) + " reads what nobody has written: " + place(block, index * word_bytes));
  if (word.writer && !ordered(word.writer, queue_->clock))
    race(block, index, "reads", word.writer, "writes it");
  if (!word.reader || (!(word.reader & several) && ordered(word.reader, queue_->clock))) {
    word.reader = current_;
    return;
  }
  if (!(word.reader & several)) {
    readers_.push_back({word.reader});
    word.reader = static_cast<std::uint32_t>(readers_.size() - 1) | several;
  }
  auto& readers = readers_[word.reader & ~several];
  if (std::find(readers.begin(), readers.end(), current_) == readers.end())
    readers.push_back(current_);
}

void Memory::write(const Block& block, std::size_t index) {
  Word& word = const_cast<Word&>(block.words[index]);
  if (word.writer == current_ && !word.reader) return;
  if (word.writer && !ordered(word.writer, queue_->clock))
    race(block, index, "writes", word.writer, "writes it");
  if (word.reader & several) {
    for (const std::uint32_t reader : readers_[word.reader & ~several])
      if (!ordered(reader, queue_->clock)) race(block, index, "writes", reader, "reads it");
  } else if (word.reader && !ordered(word.reader, queue_->clock)) {
    race(block, index, "writes", word.reader, "reads it");
  }
  word = {current_, 0};
}

void Memory::race(const Block& block, std::size_t word, const char* now, std::uint32_t other,
                  const char* before) {
  if (reported_ == std::pair(current_, other)) return;  // the rest of the block says the same
  reported_ = {current_, other};
  found("race: " + (current_ ? name(current_) + " " : std::string()) + now + " " +
        place(block, word * word_bytes) + ", and " + name(other) + " " + before +
        ", with nothing that orders the two");
}

void Memory::race_in_kernel(const void* where) {
  const Block* const block = find(where);
  const auto begin = reinterpret_cast<std::uintptr_t>(where);
  found("race: two threads of " + name(current_) + " at " +
        (block ? place(*block, begin - block->begin) : std::string("shared memory")) +
        ", one of them block " + std::to_string(threads_.block()) + " thread " +
        std::to_string(threads_.thread()));
}

std::string Memory::name(std::uint32_t operation) const {
  return "\"" + *done_[operation].what + "\" (stream " + std::to_string(done_[operation].stream) +
         ", operation " + std::to_string(done_[operation].count) + ")";
}

std::string Memory::place(const Block& block, std::size_t byte) const {
  const std::string where =
      block.device == host ? "pinned memory" : "device " + std::to_string(block.device);
  return "byte " + std::to_string(byte) + " of a block of " + std::to_string(block.bytes) +
         " bytes (" + where + ")";
}

}  // namespace fake_cuda
