#include "decode/room.hpp"

#include <utility>

namespace pipetrain {

std::byte* Room::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return block_;
  stream_.finish();  // work on the stream may still read the memory
  std::byte* const old = std::exchange(block_, nullptr);
  block_ = memory_.exchange(use_, old, std::exchange(bytes_, 0), bytes);
  bytes_ = bytes;
  return block_;
}

}  // namespace pipetrain
