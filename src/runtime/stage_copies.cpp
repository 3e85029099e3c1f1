#include "runtime/stage_copies.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"

namespace pipetrain {
namespace {

// The sum over the copies is one copy's work, and any of them may be the one.
void require_reach(StageId stage, const Stream& a, const Stream& b) {
  if (a.reaches(b) && b.reaches(a)) return;
  throw DeviceError(fmt::format(
      "the copies of stage {} lie on cuda:{} and cuda:{}, which cannot reach each other's memory; "
      "name one of them twice in hardware.devices",
      stage.value, a.device(), b.device()));
}

}  // namespace

StageCopies::StageCopies(const StageInput& input, std::span<const Place> places, int workers) {
  for (const Place& place : places) {
    StageInput copy = input;
    copy.stream = {.worker = place.worker.value, .workers = workers};
    copy.packet_bytes = place.packet_bytes;
    copies_.push_back(std::make_unique<Stage>(copy));
    gradient_whole_.push_back(copies_.back()->stream().make_fence());
    for (const auto& before : copies_)
      require_reach(input.id, before->stream(), copies_.back()->stream());
  }
  parts_.resize(copies_.size());
}

void StageCopies::prepare(std::span<const MicrobatchSize> sizes,
                          std::vector<CompiledStage> of_first) {
  first().prepare(std::move(of_first));
  std::vector<MicrobatchSize> trains;
  std::ranges::copy_if(sizes, std::back_inserter(trains),
                       [](const MicrobatchSize& size) { return size.mode == Mode::Train; });
  for (int c = 1; c < count(); ++c) copy(c).prepare(trains);
}

void StageCopies::keep_up_delta(bool on) {
  for (const auto& stage : copies_) stage->keep_up_delta(on);
}

bool StageCopies::hand_in_gradient(int copy) {
  Stage& mine = this->copy(copy);
  mine.complete_gradients();
  mine.stream().record(*gradient_whole_[copy]);
  if (handed_in_.fetch_add(1) + 1 < count()) return false;
  handed_in_ = 0;  // nobody begins the next mini-batch before this one is added up
  if (count() > 1) add_up_gradients(mine.stream());
  return true;
}

void StageCopies::add_up_gradients(Stream& stream) {
  for (const auto& whole : gradient_whole_) stream.wait(*whole);
  for (int p = 0; p < first().parameters(); ++p) {
    for (int c = 0; c < count(); ++c) parts_[c] = copy(c).gradient(p).data();
    stream.add_up(
        {.elements = static_cast<std::int64_t>(first().gradient(p).size()), .parts = parts_});
  }
}

HeldMemory StageCopies::memory() const {
  HeldMemory sum;
  for (const auto& stage : copies_) sum = sum + stage->memory();
  return sum;
}

}  // namespace pipetrain
