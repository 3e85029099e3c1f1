// Keeps data of the target's prefixes from position to position, one row per prefix: a value that a
// layer reads again at each position or, with T = 1, a state that it carries along.
//
//   [rows, T, bytes of one position]   positions not reached yet are 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/room.hpp"

namespace pipetrain {

// Threading: one thread at a time. Stream and memory must outlive it.
class PrefixCache {
 public:
  // `position_bytes`: in one row.
  PrefixCache(Stream& stream, StageMemory& memory, int rows, std::size_t position_bytes);

  void begin() { length_ = 0; }  // starts other prefixes: empties the cache
  // Makes room for `length` positions, of which the first `positions` are in use, never fewer than
  // last time; row r continues with the previous contents of row from[r]. `spare`: spare_bytes().
  void arrange(std::int64_t length, std::int64_t positions, std::span<const int> from,
               std::byte* spare);
  std::size_t spare_bytes(std::int64_t positions) const {
    return rows_ * static_cast<std::size_t>(positions) * position_bytes_;
  }
  void put(std::int64_t position, const void* values);  // [rows, 1]
  void* values() const { return room_.get(); }

 private:
  // Rows first .. first + count - 1, whose sources are the same distance apart as they are.
  struct Run {
    std::size_t first, count, from;
  };
  template <class Body>
  void each_run(bool all, std::span<const int> from, Body body) const;
  std::byte* row(std::size_t r) const { return room_.get() + r * row_bytes(); }
  std::size_t row_bytes() const { return static_cast<std::size_t>(length_) * position_bytes_; }

  Stream& stream_;
  std::size_t rows_, position_bytes_;
  Room room_;
  std::int64_t length_ = 0;  // T; 0: not laid out yet
};

}  // namespace pipetrain
