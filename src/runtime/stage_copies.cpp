#include "runtime/stage_copies.hpp"

namespace pipetrain {

StageCopies::StageCopies(const StageInput& input, std::span<const WorkerId> on, int workers) {
  for (const WorkerId worker : on) {
    StageInput copy = input;
    copy.stream = {.worker = worker.value, .workers = workers};
    copies_.push_back(std::make_unique<Stage>(copy));
    gradient_whole_.push_back(copies_.back()->stream().make_fence());
  }
  parts_.resize(copies_.size());
}

void StageCopies::prepare(int samples, Mode mode) {
  for (const auto& stage : copies_)
    if (mode == Mode::Train || stage == copies_.front()) stage->prepare(samples, mode);
}

void StageCopies::keep_up_delta(bool on) {
  for (const auto& stage : copies_) stage->keep_up_delta(on);
}

bool StageCopies::hand_in_gradient(int copy) {
  Stage& mine = this->copy(copy);
  mine.complete_gradients();
  mine.stream().record(*gradient_whole_[static_cast<std::size_t>(copy)]);
  if (handed_in_.fetch_add(1) + 1 < count()) return false;
  handed_in_ = 0;  // nobody begins the next mini-batch before this one is added up
  if (count() > 1) add_up_gradients(mine.stream());
  return true;
}

void StageCopies::add_up_gradients(Stream& stream) {
  for (const auto& whole : gradient_whole_) stream.wait(*whole);
  for (int p = 0; p < first().parameters(); ++p) {
    for (int c = 0; c < count(); ++c)
      parts_[static_cast<std::size_t>(c)] = copy(c).gradient(p).data();
    stream.add_up(
        {.elements = static_cast<std::int64_t>(first().gradient(p).size()), .parts = parts_});
  }
}

MemoryAccount StageCopies::memory() const {
  MemoryAccount sum;
  for (const auto& stage : copies_)
    for (std::size_t use = 0; use < sum.bytes.size(); ++use)
      sum.bytes[use] += stage->memory().bytes[use];
  return sum;
}

}  // namespace pipetrain
