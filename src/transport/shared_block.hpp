// Memory that two processes of one host see: one makes it, the other opens it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace pipetrain {

// Where another process finds a block. Plain data, which travels between ranks.
struct SharedAddress {
  std::array<char, 48> host = {};            // the kernel's boot id
  std::uint64_t processes = 0, network = 0;  // namespaces: a container is a host of its own
  std::int64_t process = 0;
  std::int32_t file = -1;                    // -1: no block
  std::array<std::uint64_t, 2> number = {};  // random; the block begins with it
  std::uint64_t bytes = 0;
};

// Threading: none of its own; what is in it is for its users to agree on.
class SharedBlock {
 public:
  // Of this many bytes, all 0. Nothing where the system has no such memory, or not enough.
  static std::optional<SharedBlock> make(std::size_t bytes);
  // Nothing where the block is of another host or container, of a process into which this one may
  // not look, or made for another number of bytes.
  static std::optional<SharedBlock> open(const SharedAddress& address, std::size_t bytes);

  SharedBlock(SharedBlock&& other) noexcept;
  SharedBlock& operator=(SharedBlock&&) = delete;
  ~SharedBlock();

  void hide();              // no other process can open it any more
  std::byte* data() const;  // after the block's number; at a cache line
  const SharedAddress& address() const { return address_; }

 private:
  SharedBlock(const SharedAddress& address, int file, void* memory)
      : address_(address), file_(file), memory_(memory) {}
  static std::optional<SharedBlock> map(const SharedAddress& address, int file);

  SharedAddress address_;
  int file_ = -1;
  void* memory_ = nullptr;  // of address_.bytes
};

}  // namespace pipetrain
