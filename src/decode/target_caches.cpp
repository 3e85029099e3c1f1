#include "decode/target_caches.hpp"

#include <algorithm>

namespace pipetrain {

void TargetCaches::add_value(ValueId value, std::size_t bytes) {
  values_.try_emplace(value, stream_, memory_, rows_, bytes / static_cast<std::size_t>(rows_));
}

void TargetCaches::add_state(LayerId layer, std::size_t bytes) {
  states_[layer].emplace_back(stream_, memory_, rows_, bytes / static_cast<std::size_t>(rows_));
}

void TargetCaches::begin() {
  length_ = 0;
  for (auto& [value, cache] : values_) cache.begin();
  for (auto& [layer, states] : states_)
    for (PrefixCache& state : states) state.begin();
}

// Moves nothing if every row continues with itself and there is room.
void TargetCaches::arrange(std::int64_t length, std::int64_t positions, std::span<const int> from) {
  const bool first = length_ == 0, longer = length != length_;
  bool elsewhere = false;
  for (int row = 0; row < rows_; ++row) elsewhere = elsewhere || from[row] != row;
  const auto arrange = [&](PrefixCache& cache, std::int64_t room, std::int64_t there) {
    cache.arrange(room, there, from, spare_.reserve(cache.spare_bytes(there)));
  };
  if (longer || elsewhere)
    for (auto& [value, cache] : values_) arrange(cache, length, positions);
  if (first || elsewhere)
    for (auto& [layer, states] : states_)
      for (PrefixCache& state : states) arrange(state, 1, std::min<std::int64_t>(positions, 1));
  length_ = length;
}

PrefixCache* TargetCaches::value(ValueId value) {
  const auto cache = values_.find(value);
  return cache == values_.end() ? nullptr : &cache->second;
}

std::span<void* const> TargetCaches::state(LayerId layer) {
  state_.clear();
  if (const auto states = states_.find(layer); states != states_.end())
    for (const PrefixCache& state : states->second) state_.push_back(state.values());
  return state_;
}

}  // namespace pipetrain
