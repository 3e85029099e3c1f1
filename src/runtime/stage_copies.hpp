// The copies of one stage, each on a worker of its own, in the order of the program's placement:
// one where the stage is on one worker. All hold the same weights and, after an update, the same
// running statistics. Those that another rank of the job has are absent here; each rank adds up by
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

namespace pipetrain {

class StageCopies {
 public:
  struct Place {
    WorkerId worker;
    ByMode<std::size_t> packet_bytes = {};
    bool here = true;  // on this rank
  };
  // One at each of these places, of `workers` workers in all. DeviceError where their devices
  // cannot add up.
  StageCopies(const StageInput& input, std::span<const Place> places, int workers);

  int count() const { return static_cast<int>(copies_.size()); }
  bool has(int c) const { return copies_[c] != nullptr; }
  bool has_any() const;
  Stage& copy(int c) const { return *copies_[c]; }
  Stage& first() const { return copy(0); }
  Stage& any() const;  // the first that is here
  // Of the stage, wherever it is.
  StageId id() const { return id_; }
  LayerId first_layer() const { return first_layer_; }
  LayerId last_layer() const { return last_layer_; }
  int parameters() const { return parameters_; }
  WorkerId worker(int c) const { return workers_of_copies_[c]; }

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

  // Where other ranks have copies: which, and how gradients get there. It outlives the copies.
  void join_ranks(PartsLink& link, std::vector<int> ranks);
  void take_parts(std::int64_t update, PartsLink::Parts parts);  // from the wire's thread

  // A run begins: updates are counted from 0. Until it ends, what comes may be added up.
  void begin();
  void end();

  // One copy has all that its micro-batches add to the gradient of its next update, which is for
  // the mini-batches up to `last_step`. For the last copy, its stream puts the sum over the copies,
  // in their order, divided by `mean_of`, in place of each copy's part, and applies to all what
  // their micro-batches say of running statistics; then `whole` is called. Threading: each copy
  // from its worker, as all below; `whole` from that of the last copy or, where other ranks' were
  // later, from a thread of the link's.
  struct HandIn {
    std::int64_t last_step = 0;
    int mean_of = 1;
    std::function<void()> whole = [] {};
  };
  void hand_in_gradient(int copy, const HandIn& update);
  // Is the sum there, or will be on the streams? Then take_sum() does not wait, but makes the
  // copy's stream do so.
  bool summed(std::int64_t update) const;
  void take_sum(int copy, std::int64_t update);  // ChannelClosed
  void close() noexcept;

  HeldMemory memory() const;  // of all copies together

 private:
  int here() const;
  void hand_to_others();
  void add_statistics(int copy, PartsLink::Parts& parts) const;
  bool whole() const;
  void put_sums(int by);
  float* gradient_of(int copy, int parameter);
  void add_up_gradients(Stream& stream, int mean_of);
  void take_remote_statistics();
  void replay_statistics(Stream& stream, std::int64_t last_step);

  std::vector<std::unique_ptr<Stage>> copies_;  // null: on another rank
  const StageId id_;
  const LayerId first_layer_, last_layer_;
  std::vector<WorkerId> workers_of_copies_;
  int parameters_ = 0;
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

  PartsLink* parts_link_ = nullptr;
  std::vector<int> ranks_;  // others that have copies
  // By update, counted from the first run's: what they have handed in.
  std::map<std::int64_t, std::vector<PartsLink::Parts>> came_;
  std::deque<StatisticsLog::Entry> remote_notes_;
  std::int64_t all_updates_ = 0;
  HandIn update_;  // that is being handed in
  int last_here_ = 0;
  bool all_here_ = false, running_ = false;
  mutable std::mutex mutex_;
  std::condition_variable workers_;
};

}  // namespace pipetrain
