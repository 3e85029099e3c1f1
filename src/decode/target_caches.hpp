// All that is kept of the targets from position to position: the values that layers read again of
// the whole prefix, and the states that layers carry along.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "decode/prefix_cache.hpp"

namespace pipetrain {

// Threading: of one thread at a time. Stream and memory outlive it.
class TargetCaches {
 public:
  TargetCaches(Stream& stream, StageMemory& memory, int rows)
      : stream_(stream), memory_(memory), rows_(rows), spare_(stream, memory, Use::Activations) {}

  // What is to be kept: a value once, a layer's states in their order; the bytes of one position,
  // or of a state, of all rows.
  void add_value(ValueId value, std::size_t bytes);
  void add_state(LayerId layer, std::size_t bytes);
  bool has_states() const { return !states_.empty(); }

  void begin();  // other targets: nothing is there
  // Room for `length` positions, of which the first `positions` are there, never fewer than the
  // time before; row r continues with what was row from[r]'s.
  void arrange(std::int64_t length, std::int64_t positions, std::span<const int> from);

  PrefixCache* value(ValueId value);  // null: it is not kept
  // Of a layer; none: it has none. Valid until the next call.
  std::span<void* const> state(LayerId layer);

 private:
  Stream& stream_;
  StageMemory& memory_;
  int rows_;
  std::int64_t length_ = 0;  // that values are laid out for
  std::map<ValueId, PrefixCache> values_;
  std::map<LayerId, std::vector<PrefixCache>> states_;
  Room spare_;                // rows on their way
  std::vector<void*> state_;  // of the layer asked for last
};

}  // namespace pipetrain
