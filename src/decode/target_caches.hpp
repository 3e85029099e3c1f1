// Everything that is kept of the targets from position to position: the values of the whole prefix
// that layers read again, and the states that layers carry along.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "decode/prefix_cache.hpp"

namespace pipetrain {

// Threading: one thread at a time. Stream and memory must outlive it.
class TargetCaches {
 public:
  TargetCaches(Stream& stream, StageMemory& memory, int rows)
      : stream_(stream), memory_(memory), rows_(rows), spare_(stream, memory, Use::Activations) {}

  // Register what to keep: each value once, a layer's states in their order. `bytes`: of one
  // position, or of one state, over all rows.
  void add_value(ValueId value, std::size_t bytes);
  void add_state(LayerId layer, std::size_t bytes);
  bool has_states() const { return !states_.empty(); }

  void begin();  // starts other targets: empties the caches
  // Makes room for `length` positions, of which the first `positions` are in use, never fewer than
  // last time; row r continues with the previous contents of row from[r].
  void arrange(std::int64_t length, std::int64_t positions, std::span<const int> from);

  PrefixCache* value(ValueId value);  // null if it is not kept
  // A layer's states; empty if it has none. Valid until the next call.
  std::span<void* const> state(LayerId layer);

 private:
  Stream& stream_;
  StageMemory& memory_;
  int rows_;
  std::int64_t length_ = 0;  // for which values are laid out
  std::map<ValueId, PrefixCache> values_;
  std::map<LayerId, std::vector<PrefixCache>> states_;
  Room spare_;                // for rows on the move
  std::vector<void*> state_;  // of the last layer asked for
};

}  // namespace pipetrain
