// What one worker computes, in order. Orders repeat themselves: some instructions recur, each time
// with the same number added to their micro-batches. A list keeps those once, so that a list of
// millions of instructions fits in a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// F, B, I or W.
class ComputeInstruction {
 public:
  constexpr ComputeInstruction(Op op, StageId stage, MicrobatchId microbatch)
      : op_(static_cast<std::uint32_t>(op)),
        stage_(static_cast<std::uint32_t>(stage.value)),
        microbatch_(microbatch.value) {}
  constexpr Op op() const { return static_cast<Op>(op_); }
  constexpr StageId stage() const { return {static_cast<int>(stage_)}; }
  constexpr MicrobatchId microbatch() const { return {microbatch_}; }
  // The same for a later micro-batch.
  constexpr ComputeInstruction later(int microbatches) const {
    ComputeInstruction i = *this;
    i.microbatch_ += microbatches;
    return i;
  }
  bool operator==(const ComputeInstruction&) const = default;

 private:
  std::uint32_t op_ : 4, stage_ : 28;
  std::int32_t microbatch_;
};
static_assert(sizeof(ComputeInstruction) == 8);

class ComputeList {
  // `length` instructions of bodies_, repeated `times` times, each time `step` micro-batches later.
  struct Run {
    std::uint32_t first = 0, length = 0;
    std::int32_t times = 1, step = 0;
  };

 public:
  void push_back(ComputeInstruction i) {
    tail_.push_back(i);
    if (tail_.size() == kTail) shorten(kLeft);
  }
  // Appends `body` this many times, each time for micro-batches that are `step` later.
  void repeat(std::initializer_list<ComputeInstruction> body, int times, int step);
  std::size_t size() const { return size_ + tail_.size(); }
  bool empty() const { return size() == 0; }
  std::size_t kept() const { return bodies_.size() + tail_.size(); }  // instructions kept in memory

  // From the first to the last; a push_back invalidates it.
  class Cursor {
   public:
    Cursor() = default;  // at an end
    explicit Cursor(const ComputeList& list) : list_(&list) { load(); }
    ComputeInstruction operator*() const { return at_->later(added_); }
    Cursor& operator++() {
      if (++at_ == end_) next_time();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return at_ == nullptr; }

   private:
    void next_time() {
      if (--left_ == 0) {
        ++run_;
        return load();
      }
      at_ = body_;
      added_ += step_;
    }
    void load();

    const ComputeInstruction *at_ = nullptr, *body_ = nullptr, *end_ = nullptr;
    std::int32_t added_ = 0, left_ = 0, step_ = 0;
    std::uint32_t run_ = 0;  // the number of runs means the tail
    const ComputeList* list_ = nullptr;
  };
  Cursor begin() const { return Cursor(*this); }
  std::default_sentinel_t end() const { return {}; }

  bool operator==(const ComputeList& other) const;  // the same instructions, however stored

 private:
  static constexpr std::size_t kTail = 2048;  // its size when repetitions are looked for
  static constexpr std::size_t kLeft = 64;    // of them stay: a run that they begin may continue

  void shorten(std::size_t left);
  std::size_t extend_last_run();
  std::size_t add_run(std::size_t at);
  std::size_t times_from(std::size_t at, std::size_t length, int step) const;

  std::vector<Run> runs_;
  std::vector<ComputeInstruction> bodies_, tail_;  // tail_: after all runs
  std::size_t size_ = 0;                           // in all runs
};

inline void ComputeList::Cursor::load() {
  const bool in_run = run_ < list_->runs_.size();
  const Run run = in_run ? list_->runs_[run_] : Run{};
  body_ = in_run ? list_->bodies_.data() + run.first : list_->tail_.data();
  end_ = body_ + (in_run ? run.length : list_->tail_.size());
  added_ = 0;
  left_ = run.times;
  step_ = run.step;
  const bool after_all = run_ > list_->runs_.size() || body_ == end_;
  at_ = after_all ? nullptr : body_;
}

}  // namespace pipetrain
