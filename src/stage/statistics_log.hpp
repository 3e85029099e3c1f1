// What micro-batches make of the running statistics of a stage that has copies. Each copy sees a
// part of the micro-batches: it notes what they add, and with every update all notes are applied to
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

// Threading: of one worker at a time, as its stage.
class StatisticsLog {
 public:
  struct Entry {
    std::uint64_t step = 0, microbatch = 0;  // as RandomKey
    bool taken = false;
    // Per layer and buffer: what statistics of zero become in the micro-batch's forward.
    std::vector<std::vector<void*>> buffers = {};

    auto when() const { return std::pair{step, microbatch}; }
  };

  // `microbatches`: from their forward to the update that they are for; 0: nothing is noted.
  StatisticsLog(Stream& stream, std::span<const Layer> layers, int microbatches,
                StageMemory& memory);

  bool notes() const { return !entries_.empty(); }
  // The forward of this micro-batch begins, and writes to the buffers until the next one does.
  void open(const RandomKey& microbatch);
  std::span<void* const> buffers(int layer) const { return open_->buffers[layer]; }

  // Those that are taken stay so until they are given back.
  std::span<Entry> entries() { return entries_; }
  static void give_back(Entry& entry) { entry.taken = false; }

  // Moves the running statistics, per layer and buffer, as a note of any copy says.
  void apply(const Entry& entry, std::span<const std::vector<void*>> running, Stream& stream) const;

 private:
  Stream& stream_;
  const Layer* layers_;  // the first of the stage's
  std::vector<Entry> entries_;
  Entry* open_ = nullptr;
};

// Bytes of one micro-batch's notes, all layers together.
std::size_t statistics_bytes(std::span<const Layer> layers);

}  // namespace pipetrain
