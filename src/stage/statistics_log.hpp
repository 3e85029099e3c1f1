// How micro-batches change the running statistics of a stage with copies. Each copy sees only a
// part of the micro-batches and notes what these add. At every update all notes are applied to
// every copy, in the order of the micro-batches. So all copies have the statistics of one stage
// that has seen everything.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "stage/memory.hpp"

namespace pipetrain {

struct Layer;

// Threading: used by one worker at a time, as its stage.
class StatisticsLog {
 public:
  struct Entry {
    std::uint64_t step = 0, microbatch = 0;  // as RandomKey
    bool taken = false;
    // Per layer and buffer: what the micro-batch's forward makes of statistics of zero.
    std::vector<std::vector<void*>> buffers = {};

    auto when() const { return std::pair{step, microbatch}; }
  };

  // `microbatches`: from their forward to the update that they contribute to; 0: nothing is noted.
  StatisticsLog(Stream& stream, std::span<const Layer> layers, int microbatches,
                StageMemory& memory);

  bool notes() const { return !entries_.empty(); }
  // The forward of this micro-batch begins. It writes to the buffers until the next one begins.
  void open(const RandomKey& microbatch);
  std::span<void* const> buffers(int layer) const { return open_->buffers[layer]; }

  // Entries that are taken stay so until they are given back.
  std::span<Entry> entries() { return entries_; }
  static void give_back(Entry& entry) { entry.taken = false; }

  // Changes the running statistics, per layer and buffer, by one note of any copy.
  void apply(const Entry& entry, std::span<const std::vector<void*>> running, Stream& stream) const;

 private:
  Stream& stream_;
  const Layer* layers_;  // the first of the stage's
  std::vector<Entry> entries_;
  Entry* open_ = nullptr;
};

// Bytes of one micro-batch's notes, over all layers.
std::size_t statistics_bytes(std::span<const Layer> layers);

}  // namespace pipetrain
