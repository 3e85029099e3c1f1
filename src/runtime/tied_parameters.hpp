// Parameters that several layers use, possibly on several stages. Each use has its own copy of the
// weights and its own gradient. Before the update of a mini-batch the gradients of all uses are
// summed, in the order of the layers, and the sum replaces each of them. So every use makes the
// same update, and version v is the same tensor wherever it is.
//
//   stage 0   B0 ── Y0 hand in ─┐            ┌> U0
//   stage 3   B0 ── Y0 hand in ─┴─ the sum ──┴> U0    the last to hand in adds up
//
// Stages hand in whole mini-batches, in turn: none begins the next one before it has taken the sum
// of this one. If uses are on several ranks, each rank adds up by itself, from what the others have
// handed in (parts_link.hpp), in the same order: the bits are the same.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/parts_link.hpp"
#include "runtime/stage_copies.hpp"
#include "runtime/step_board.hpp"
#include "stage/results.hpp"
#include "transport/link_sum.hpp"

namespace pipetrain {

struct Graph;
struct Tie;

struct TiedApart {  // if stages are on several ranks
  Job* job = nullptr;
  std::vector<std::vector<int>> ranks = {};  // of each stage's copies
  int kernel_threads = 1;
};

class TiedParameters {
 public:
  // `stages` outlive it. Throws a DeviceError if the devices of two uses cannot add up their
  // gradients.
  TiedParameters(const Graph& graph, std::span<const std::unique_ptr<StageCopies>> stages,
                 const TiedApart& apart = {});
  ~TiedParameters();

  int count() const { return static_cast<int>(groups_.size()); }
  bool concerns(StageId stage) const;
  StageId owner(int parameter) const {  // the first use's stage
    return groups_[parameter].owner;
  }

  // Delays sums as such links would; the clock outlives this object.
  void sum_over(const LinkRate& rate, const LinkClock& clock) { link_.emplace(rate, clock); }
  // For one update: the sums of the parameters whose first use is on that stage. Each copy of a
  // stage shares with the copies of the same number; uses on one worker send nothing.
  Volume all_reduce(StageId owner) const;
  double all_reduce_seconds(StageId owner, const LinkRate& rate) const;

  // A run begins: updates count from 0. `board`: where the squares of each sum are left as soon as
  // it is available; null: nowhere.
  void begin(StepBoard* board);
  void end();  // nothing is added up after this

  // The stage's gradients of its next mini-batch, `step`, are complete on the stream of this copy,
  // which has summed those of all copies. The last stage of the mini-batch puts the sums in place,
  // on its stream. Threading: called from the stage's worker, as all below.
  void hand_in(StageId stage, int copy, std::int64_t step);

  // Have all stages handed in? If so, take_sums() does not wait; it makes the copy's stream wait
  // instead.
  bool summed(std::int64_t update) const;
  void take_sums(StageId stage, int copy, std::int64_t update);  // throws ChannelClosed
  // On devices of several ranks a worker puts the sums in place, so it must have done so before it
  // waits for the norm of the whole model, which they are part of. Elsewhere does nothing.
  void put_sums_of(WorkerId worker, std::int64_t update);
  void close() noexcept;

 private:
  struct Use {
    StageCopies* copies = nullptr;
    int parameter = 0;  // among the stage's
    bool here() const { return copies->has_any(); }
    std::span<float> gradient() const { return copies->any().gradient(parameter); }
  };
  struct Group {
    StageId owner;
    int model_parameter = 0;  // index of the owner among all parameters of the model
    std::vector<Use> uses;    // in the order of the layers
    std::int64_t bytes = 0;   // of one gradient
    int workers = 1;          // those with a use, for each copy
  };
  struct Hand {  // a copy of a stage that has a use
    StageId stage;
    int number = 0;  // of the copy
    Stage* copy = nullptr;
    std::unique_ptr<Fence> whole, sums;        // its gradients; the sums, if it puts them in place
    std::unique_ptr<Results<double>> squares;  // for each group
  };
  Hand& hand(StageId stage, int copy);
  static void measure(Group& group);
  static double seconds(const Group& group, const LinkRate& rate);
  double all_reduce_seconds(const LinkRate& rate) const;  // of all, one after the other
  void add_hands(StageId stage, StageCopies& copies, std::size_t groups);
  bool has_use_here(const Group& group) const;
  void hand_to_others(Stream& stream);
  bool on_devices() const;
  bool may_put_sums() const;
  void take_come_memory();
  float* come_part(Stream& stream, std::size_t group, std::size_t use);
  void make_link(const TiedApart& apart);
  void take_part(std::int64_t update, PartsLink::Parts parts);
  bool whole() const;
  void put_sums(Hand& by);
  void wait_for_sums(std::unique_lock<std::mutex>& lock, Hand& by, std::int64_t update);
  void add_up(Stream& stream, std::size_t group);
  std::vector<float>& part_of(std::size_t group, std::size_t use);
  void check_alike(const Graph& graph, const Group& group, const Tie& owner) const;
  void deposit(Hand& by);

  std::vector<Group> groups_;
  std::vector<Hand> hands_;  // on this rank
  int stages_ = 0;           // on this rank
  StepBoard* board_ = nullptr;
  std::int64_t step_ = 0;              // the one that is being handed in
  std::vector<Hand*> handed_in_;       // for the update that is being handed in
  std::int64_t summed_ = 0;            // updates before this one
  const Fence* sums_there_ = nullptr;  // of the hand that put the last sums in place
  std::optional<LinkSum> link_;
  bool closed_ = false;
  std::vector<float*> parts_;  // reused by every sum
  // By update, counted from the first run's: what other ranks have handed in.
  std::map<std::int64_t, std::vector<PartsLink::Parts>> came_;
  std::int64_t all_updates_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, float*> come_memory_;  // by group and use
  bool all_here_ = false;  // of this update: every stage of this rank has handed in
  bool putting_ = false;   // ... and a worker puts the sums in place
  bool running_ = false;
  std::vector<int> receivers_;  // ranks that need what this rank's first copies hand in
  int senders_ = 0;             // ranks from which this one needs it
  mutable std::mutex mutex_;
  std::condition_variable workers_;
  std::unique_ptr<PartsLink> parts_link_;  // if uses are on several ranks
};

}  // namespace pipetrain
