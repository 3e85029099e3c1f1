#include "program/compute_list.hpp"

namespace pipetrain {

// How many times `length` instructions of the tail are repeated in a row, each time `step` later.
std::size_t ComputeList::times_from(std::size_t at, std::size_t length, int step) const {
  std::size_t end = at + length;
  while (end < tail_.size() && tail_[end] == tail_[end - length].later(step)) ++end;
  return (end - at) / length;
}

// Extends the last run by repetitions from the tail. Returns how many instructions these are.
std::size_t ComputeList::extend_last_run() {
  if (runs_.empty() || runs_.back().times == 1) return 0;
  Run& run = runs_.back();
  std::size_t done = 0;
  for (;; ++run.times, done += run.length) {
    if (done + run.length > tail_.size()) return done;
    for (std::uint32_t i = 0; i < run.length; ++i)
      if (tail_[done + i] != bodies_[run.first + i].later(run.times * run.step)) return done;
  }
}

// Moves a run that begins at `at` out of the tail: what repeats there, or a single instruction.
// Returns its length.
std::size_t ComputeList::add_run(std::size_t at) {
  const auto first = static_cast<std::uint32_t>(bodies_.size());
  for (const std::size_t length : {1, 2, 3, 4, 5, 6, 8}) {
    if (at + length >= tail_.size()) break;
    const int step = tail_[at + length].microbatch().value - tail_[at].microbatch().value;
    const std::size_t times = times_from(at, length, step);
    constexpr std::size_t worth = 8;
    if (times < worth) continue;
    const auto body = tail_.begin() + static_cast<std::ptrdiff_t>(at);
    bodies_.insert(bodies_.end(), body, body + static_cast<std::ptrdiff_t>(length));
    runs_.push_back(
        {first, static_cast<std::uint32_t>(length), static_cast<std::int32_t>(times), step});
    return times * length;
  }
  if (runs_.empty() || runs_.back().times > 1) runs_.push_back({first, 0, 1, 0});
  bodies_.push_back(tail_[at]);
  ++runs_.back().length;
  return 1;
}

void ComputeList::repeat(std::initializer_list<ComputeInstruction> body, int times, int step) {
  if (times <= 0) return;
  shorten(0);
  runs_.push_back({static_cast<std::uint32_t>(bodies_.size()),
                   static_cast<std::uint32_t>(body.size()), times, step});
  bodies_.insert(bodies_.end(), body);
  size_ += body.size() * static_cast<std::size_t>(times);
}

void ComputeList::shorten(std::size_t left) {
  std::size_t done = extend_last_run();
  while (tail_.size() > done + left) done += add_run(done);
  tail_.erase(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(done));
  size_ += done;
}

bool ComputeList::operator==(const ComputeList& other) const {
  if (size() != other.size()) return false;
  Cursor mine = begin(), its = other.begin();
  for (; mine != end(); ++mine, ++its)
    if (*mine != *its) return false;
  return true;
}

}  // namespace pipetrain
