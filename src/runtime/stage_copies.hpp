// The copies of one stage, each on a worker of its own, in the order of the program's placement:
// one where the stage lies on one worker. All hold the same weights; each keeps running statistics
// of the micro-batches that it saw, and those of the first are the model's.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "stage/stage.hpp"

namespace pipetrain {

class StageCopies {
 public:
  struct Place {
    WorkerId worker;
    ByMode<std::size_t> packet_bytes = {};
  };
  // One at each of these places, of `workers` workers in all. DeviceError where their devices
  // cannot add up.
  StageCopies(const StageInput& input, std::span<const Place> places, int workers);

  int count() const { return static_cast<int>(copies_.size()); }
  Stage& copy(int c) const { return *copies_[c]; }
  Stage& first() const { return copy(0); }

  // For every copy; evaluation is the first one's, which gets kernels that have been compiled.
  void prepare(std::span<const MicrobatchSize> sizes, std::vector<CompiledStage> of_first);
  void keep_up_delta(bool on);

  // One copy has all that its micro-batches add to the gradient. True to the last one of a
  // mini-batch: its stream puts the sum over the copies, in their order, in place of each copy's
  // part. The others' streams must not touch theirs until that is done.
  // Threading: each copy from its worker.
  bool hand_in_gradient(int copy);

  HeldMemory memory() const;  // of all copies together

 private:
  void add_up_gradients(Stream& stream);

  std::vector<std::unique_ptr<Stage>> copies_;
  std::vector<std::unique_ptr<Fence>> gradient_whole_;  // of each copy, its own micro-batches' part
  std::atomic<int> handed_in_ = 0;
  std::vector<float*> parts_;  // reused by every sum
};

}  // namespace pipetrain
