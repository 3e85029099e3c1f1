#include "runtime/stage_copies.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "transport/channel.hpp"

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
    sum_there_.push_back(copies_.back()->stream().make_fence());
    for (const auto& before : copies_)
      require_reach(input.id, before->stream(), copies_.back()->stream());
  }
  for (int p = 0; p < first().parameters(); ++p)
    gradient_bytes_ += static_cast<std::int64_t>(first().gradient(p).size_bytes());
  parts_.resize(copies_.size());
  std::size_t notes = 0;
  for (const auto& copy : copies_) notes += copy->statistics().entries().size();
  notes_.reserve(notes);
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

void StageCopies::begin() {
  summed_ = 0;
  handed_in_ = 0;
}

bool StageCopies::hand_in_gradient(int copy, const HandIn& update) {
  Stage& mine = this->copy(copy);
  Stream& stream = mine.stream();
  mine.complete_gradients();
  stream.record(*gradient_whole_[copy]);
  {
    const std::lock_guard lock(mutex_);
    if (++handed_in_ < count()) return false;
    handed_in_ = 0;
  }
  // The others wait for summed_.
  for (const auto& whole : gradient_whole_) stream.wait(*whole);
  add_up_gradients(stream, update.mean_of);
  replay_statistics(stream, update.last_step);
  stream.record(*sum_there_[copy]);
  {
    const std::lock_guard lock(mutex_);
    if (link_) link_->begin(all_reduce_seconds(link_->rate()));
    summed_by_ = copy;
    ++summed_;
  }
  workers_.notify_all();
  return true;
}

void StageCopies::add_up_gradients(Stream& stream, int mean_of) {
  for (int p = 0; p < first().parameters(); ++p) {
    const auto elements = static_cast<std::int64_t>(first().gradient(p).size());
    for (int c = 0; c < count(); ++c) parts_[c] = copy(c).gradient(p).data();
    stream.add_up({.elements = elements, .parts = parts_});
    for (float* const part : parts_)
      if (mean_of > 1)
        stream.combine(
            {.elements = elements, .result = part, .a = 1.0 / mean_of, .x = part, .y = part});
  }
}

void StageCopies::replay_statistics(Stream& stream, std::int64_t last_step) {
  notes_.clear();
  for (const auto& copy : copies_)
    for (StatisticsLog::Entry& entry : copy->statistics().entries())
      if (entry.taken && std::cmp_less_equal(entry.step, last_step)) notes_.push_back(&entry);
  std::ranges::sort(notes_, {}, &StatisticsLog::Entry::when);
  for (StatisticsLog::Entry* entry : notes_) {
    for (const auto& copy : copies_) copy->apply_statistics(*entry, stream);
    StatisticsLog::give_back(*entry);
  }
}

bool StageCopies::summed(std::int64_t update) const {
  const std::lock_guard lock(mutex_);
  return closed_ || summed_ > update;
}

void StageCopies::take_sum(int copy, std::int64_t update) {
  int by = 0;
  {
    std::unique_lock lock(mutex_);
    workers_.wait(lock, [&] { return closed_ || summed_ > update; });
    if (link_) link_->wait(lock, workers_, [&] { return closed_; });
    if (closed_) throw ChannelClosed();
    by = summed_by_;
  }
  this->copy(copy).stream().wait(*sum_there_[by]);
}

void StageCopies::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  workers_.notify_all();
}

HeldMemory StageCopies::memory() const {
  HeldMemory sum;
  for (const auto& stage : copies_) sum = sum + stage->memory();
  return sum;
}

}  // namespace pipetrain
