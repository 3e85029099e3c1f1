// The copies of one stage, each on its own worker, in the order of the program's placement: one
// copy if the stage is on one worker. All hold the same weights and, after an update, the same
// running statistics. Copies on other ranks of the job are absent here; each rank adds up by
// itself, from what all have handed in (parts_link.hpp).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "program/communication.hpp"
#include "runtime/parts_link.hpp"
#include "stage/stage.hpp"
#include "transport/link_sum.hpp"
#include "transport/nccl_all_reduce.hpp"

namespace pipetrain {

class StageCopies {
 public:
  struct Place {
    WorkerId worker;
    PacketBytes packets = {};
    bool here = true;  // on this rank
  };
  // Makes a copy at each of these places, out of `workers` workers. Throws a DeviceError if their
  // devices cannot add up each other's gradients.
  StageCopies(const StageInput& input, std::span<const Place> places, int workers);

  int count() const { return static_cast<int>(copies_.size()); }
  bool has(int c) const { return copies_[c] != nullptr; }
  int here() const;  // how many are on this rank
  bool has_any() const { return here() > 0; }
  Stage& copy(int c) const { return *copies_[c]; }
  Stage& first() const { return copy(0); }
  Stage& any() const;  // the first one on this rank
  // About the stage, wherever it is.
  StageId id() const { return id_; }
  LayerId first_layer() const { return first_layer_; }
  LayerId last_layer() const { return last_layer_; }
  int parameters() const { return parameters_; }
  WorkerId worker(int c) const { return workers_of_copies_[c]; }

  // For every copy. Only the first one evaluates; it gets kernels that are already compiled.
  void prepare(std::span<const MicrobatchSize> sizes, std::vector<CompiledStage> of_first);
  void keep_up_delta(bool on);

  // Delays sums as such links would; the clock outlives the copies.
  void sum_over(const LinkRate& rate, const LinkClock& clock) { link_.emplace(rate, clock); }
  // For one update's gradients.
  Volume all_reduce() const { return ring_all_reduce(gradient_bytes_, count()); }
  double all_reduce_seconds(const LinkRate& rate) const {
    return rate.ring_seconds(static_cast<double>(gradient_bytes_), count());
  }

  // If other ranks have copies: which ranks, and how gradients get there. The link outlives the
  // copies.
  void join_ranks(PartsLink& link, std::vector<int> ranks);
  void take_parts(std::int64_t update, PartsLink::Parts parts);  // from the wire's thread
  // The same where all copies are on devices, each on a rank of its own.
  void sum_on_devices(std::unique_ptr<NcclAllReduce> sum) { device_sum_ = std::move(sum); }

  // A run begins: updates count from 0. Until it ends, parts that arrive may be added up.
  void begin();
  void end();

  // With device sums a worker takes its sum itself; `whole` is then called by take_sum().
  bool sums_on_devices() const { return device_sum_ != nullptr; }

  // The copy has everything that its micro-batches add to the gradient of its next update, which is
  // for the mini-batches up to `last_step`. When the last copy hands in, its stream replaces each
  // copy's part by the sum over the copies, in their order, divided by `mean_of`, and applies to
  // all copies the running statistics that their micro-batches noted; then `whole` is called.
  // Threading: each copy calls from its worker, as for all below; `whole` is called from that of
  // the last copy or, if other ranks hand in later, from a thread of the link.
  struct HandIn {
    std::int64_t last_step = 0;
    int mean_of = 1;
    std::function<void()> whole = {};  // may be empty
  };
  void hand_in_gradient(int copy, const HandIn& update);
  // Is the sum available, now or later on the streams? If so, take_sum() does not wait; it makes
  // the copy's stream wait instead.
  bool summed(std::int64_t update) const;
  void take_sum(int copy, std::int64_t update);  // throws ChannelClosed
  void close() noexcept;
  void abandon() noexcept {  // see Channel::abandon()
    if (device_sum_) device_sum_->abandon();
  }

  HeldMemory memory() const;  // of all copies together

 private:
  void hand_to_others();
  void add_statistics(int copy, PartsLink::Parts& parts) const;
  bool whole() const;
  void put_sums(int by);
  void take_device_sum(int copy);
  float* gradient_of(int copy, int parameter);
  void add_up_gradients(Stream& stream, int mean_of);
  void take_remote_statistics();
  void replay_statistics(Stream& stream, std::int64_t last_step);

  std::vector<std::unique_ptr<Stage>> copies_;  // null: on another rank
  const StageId id_;
  const LayerId first_layer_, last_layer_;
  std::vector<WorkerId> workers_of_copies_;
  int parameters_ = 0;
  std::vector<std::unique_ptr<Fence>> gradient_whole_;  // per copy: its own micro-batches' part
  std::vector<std::unique_ptr<Fence>> sum_there_;       // per copy, for when it adds up
  std::int64_t gradient_bytes_ = 0;                     // of one copy
  std::optional<LinkSum> link_;
  int handed_in_ = 0;        // for the current update
  std::int64_t summed_ = 0;  // updates before this one
  int summed_by_ = 0;        // the copy that added up last
  bool closed_ = false;
  std::vector<float*> parts_;  // reused by every sum
  std::vector<StatisticsLog::Entry*> notes_;

  std::unique_ptr<NcclAllReduce> device_sum_;
  PartsLink* parts_link_ = nullptr;
  std::vector<int> ranks_;  // others that have copies
  // By update, counted from the first run's: what they have handed in.
  std::map<std::int64_t, std::vector<PartsLink::Parts>> came_;
  std::deque<StatisticsLog::Entry> remote_notes_;
  std::int64_t all_updates_ = 0;
  HandIn update_;  // the one that is being handed in
  int last_here_ = 0;
  bool all_here_ = false, running_ = false;
  mutable std::mutex mutex_;
  std::condition_variable workers_;
};

}  // namespace pipetrain
