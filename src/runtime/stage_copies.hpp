// The copies of one stage, each on a worker of its own, in the order of the program's placement:
// one where the stage is on one worker. All hold the same weights and, behind an update, the same
// running statistics.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "program/communication.hpp"
#include "stage/stage.hpp"
#include "transport/link_sum.hpp"

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

  // Sums arrive as late as over such links; the clock outlives the copies.
  void sum_over(const LinkRate& rate, const LinkClock& clock) { link_.emplace(rate, clock); }
  // Of one update's gradients.
  Volume all_reduce() const { return ring_all_reduce(gradient_bytes_, count()); }
  double all_reduce_seconds(const LinkRate& rate) const {
    return rate.ring_seconds(static_cast<double>(gradient_bytes_), count());
  }

  // A run begins: updates are counted from 0.
  void begin();

  // One copy has all that its micro-batches add to the gradient of its next update, which is for
  // the mini-batches up to `last_step`. True to the last copy: its stream puts the sum over the
  // copies, in their order, divided by `mean_of`, in place of each copy's part, and applies to all
  // what their micro-batches say of running statistics. Threading: each copy from its worker; as
  // all below.
  struct HandIn {
    std::int64_t last_step = 0;
    int mean_of = 1;
  };
  bool hand_in_gradient(int copy, const HandIn& update);
  // Is the sum there, or will be on the streams? Then take_sum() does not wait, but makes the
  // copy's stream do so.
  bool summed(std::int64_t update) const;
  void take_sum(int copy, std::int64_t update);  // ChannelClosed
  void close() noexcept;

  HeldMemory memory() const;  // of all copies together

 private:
  void add_up_gradients(Stream& stream, int mean_of);
  void replay_statistics(Stream& stream, std::int64_t last_step);

  std::vector<std::unique_ptr<Stage>> copies_;
  std::vector<std::unique_ptr<Fence>> gradient_whole_;  // of each copy, its own micro-batches' part
  std::vector<std::unique_ptr<Fence>> sum_there_;       // of each copy, for when it adds up
  std::int64_t gradient_bytes_ = 0;                     // of one copy
  std::optional<LinkSum> link_;
  int handed_in_ = 0;        // for the present update
  std::int64_t summed_ = 0;  // updates before this one
  int summed_by_ = 0;        // the copy that added up last
  bool closed_ = false;
  std::vector<float*> parts_;  // reused by every sum
  std::vector<StatisticsLog::Entry*> notes_;
  mutable std::mutex mutex_;
  std::condition_variable workers_;
};

}  // namespace pipetrain
