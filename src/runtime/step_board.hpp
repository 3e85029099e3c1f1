// Where the stages meet once per mini-batch. They agree on which mini-batch is the last one, and
// leave their gradients' sums of squares (for the norm of the whole model) and what they measured;
// the reporter takes complete records in order.
//
// When steps are short, the reporter is woken for several at a time: it runs on a core that
// computes.
//
// If the stages are on several ranks, each rank has a board for its own stages, with a link to the
// others (board_link.hpp). Rank 0's has the records, and grants mini-batches before they are asked
// for, so that few workers wait for an answer.
//
// Threading: hear from any thread; begin, deposit, total and finish from the workers, deposit also
// from a thread of a parts link; next, pop and end from one reporter. A worker that is `capacity`
// mini-batches ahead of the reporter waits. After close() every wait throws ChannelClosed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/ids.hpp"
#include "base/indexed.hpp"
#include "program/communication.hpp"

namespace pipetrain {

struct StageStep {                               // one stage's part of one mini-batch
  int copies = 1;                                // those at work, each on a worker
  double busy_seconds = 0, waiting_seconds = 0;  // of all copies, since the stage's previous update
  std::int64_t end_ns = 0;  // steady clock, after the update; or before one that copies wait for
  LossResult loss;          // last stage
  int samples = 0;          // last stage
  std::int64_t labels = 0;  // last stage: the labels that the loss is summed over
  int weight_versions = 1;  // kept
  double staleness = 0;     // updates between a micro-batch's forward and its backward, mean
  bool skipped = false;     // the gradient was not finite, and on_nonfinite = "skip"
  StageVolumes communication = {};  // of all copies
};

struct StepRecord {
  std::int64_t step = 0;  // from 0 since training began
  double lr = 0;
  std::vector<StageStep> stages;
  std::vector<double> sums_of_squares;  // of every parameter's gradient, in parameter order
  double squared_norm() const;
};

class BoardLink;
struct BoardMessage;

class StepBoard {
 public:
  struct Options {
    int stages = 1;
    std::vector<int> copies = {};  // of each stage: those with a part in every step; empty: one
    int parameters = 0;
    int tied = 0;  // how many of them are tied: their sums are deposited separately, one by one
    int capacity = 64;  // in mini-batches: more than the stages may be apart
    std::int64_t first_step = 0;
    std::int64_t end =
        std::numeric_limits<std::int64_t>::max();  // of the segment: one after its last
    // Once this is true, no mini-batch begins that no stage has begun yet. Optional.
    const std::atomic<bool>* drain = nullptr;
    std::atomic<bool>* drained = nullptr;  // set when another rank says that `drain` is true there
    BoardLink* link = nullptr;             // to other ranks' boards
    // With a link: how many parts of a step are of this rank's stages; 0 if they are all elsewhere.
    std::function<int(std::int64_t step)> parts_here = {};
    bool norm_everywhere = false;  // with a link: every rank needs the total
  };
  explicit StepBoard(const Options& options);
  ~StepBoard();

  // May a worker begin the mini-batches [step, step + count)? What one worker begins, all begin.
  bool begin(std::int64_t step, std::int64_t count);

  // The sums of one stage, whose first parameter is the `first_parameter`th of the model; from one
  // of its copies. The sum of a tied parameter is deposited later than those of its owner's stage,
  // which omit it.
  void deposit(std::int64_t step, int first_parameter, std::span<const double> sums);
  bool can_deposit(std::int64_t step) const;  // if not, deposit() would wait
  // The whole model's squared norm: waits until every stage has deposited.
  double total(std::int64_t step);
  bool has_total(std::int64_t step) const;
  // Waits as deposit() does.
  void finish(std::int64_t step, StageId stage, int copy, double lr, const StageStep& part);

  const StepRecord* next();      // waits for the next complete record; null if none is left
  const StepRecord* try_next();  // null if there is none yet
  std::int64_t end() const;      // of the segment; after a drain, the earlier end
  void pop();
  void close() noexcept;
  void hear(const BoardMessage& message, std::span<const double> sums);  // does not wait

 private:
  struct Entry {
    StepRecord record;
    Indexed<std::vector<StageStep>, StageId> parts;  // of each copy
    int deposited = 0, finished = 0;
  };
  bool has_room(std::int64_t step) const;  // does entry(step) belong to the step?
  bool is_next_whole() const;
  Entry& entry(std::int64_t step);
  const Entry& entry(std::int64_t step) const;
  void wait(std::unique_lock<std::mutex>& lock, const auto& condition);  // a worker
  void notify_all() noexcept;
  bool wakes_reporter(std::int64_t step);
  bool begin_granted(std::int64_t step, std::int64_t count);
  void grant(std::int64_t end);
  void put_sums(std::int64_t step, int first_parameter, std::span<const double> sums);
  void put_part(std::int64_t step, StageId stage, int copy, double lr, const StageStep& part);
  void put_early();

  const int stages_;
  const int deposits_;
  std::function<int(std::int64_t step)> parts_;  // of a step, on this board: from each copy one
  const std::atomic<bool>* const drain_;
  std::atomic<bool>* const drained_;
  BoardLink* const link_;
  const bool norm_everywhere_;
  std::vector<Entry> entries_;
  std::int64_t next_;             // the one that the reporter takes next
  std::int64_t begun_, end_;      // mini-batches before these have begun, are in the segment
  std::int64_t granted_, asked_;  // with a link: those before these are granted, were asked for
  struct Early;
  std::vector<Early> early_;  // for steps that have no room yet
  bool closed_ = false;
  std::chrono::steady_clock::time_point woken_;  // when the reporter was last woken
  mutable std::mutex mutex_;
  std::condition_variable reporter_, workers_;
};

}  // namespace pipetrain
