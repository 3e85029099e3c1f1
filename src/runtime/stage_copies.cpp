#include "runtime/stage_copies.hpp"

namespace pipetrain {

StageCopies::StageCopies(const StageInput& input, int copies) : backend_(input.backend) {
  for (int c = 0; c < copies; ++c) copies_.push_back(std::make_unique<Stage>(input));
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
  this->copy(copy).complete_gradients();
  if (handed_in_.fetch_add(1) + 1 < count()) return false;
  handed_in_ = 0;  // nobody begins the next mini-batch before this one is added up
  if (count() > 1) add_up_gradients();
  return true;
}

void StageCopies::add_up_gradients() {
  for (int p = 0; p < first().parameters(); ++p) {
    for (int c = 0; c < count(); ++c)
      parts_[static_cast<std::size_t>(c)] = copy(c).gradient(p).data();
    backend_.add_up(
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
