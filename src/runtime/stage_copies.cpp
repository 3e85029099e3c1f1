#include "runtime/stage_copies.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

// One copy adds up for all, and it may be any of them.
void require_reach(StageId stage, const Stream& a, const Stream& b) {
  if (a.reaches(b) && b.reaches(a)) return;
  throw DeviceError(fmt::format(
      "the copies of stage {} are on cuda:{} and cuda:{}, which cannot reach each other's memory; "
      "name one of them twice in hardware.devices",
      stage.value, a.device(), b.device()));
}

}  // namespace

StageCopies::StageCopies(const StageInput& input, std::span<const Place> places, int workers)
    : id_(input.id), first_layer_(input.first), last_layer_(input.last) {
  for (LayerId l = input.first; l <= input.last; ++l.value)
    parameters_ += static_cast<int>(input.model.graph().layers[l.value].parameters.size());
  for (const Place& place : places) {
    workers_of_copies_.push_back(place.worker);
    if (!place.here) {
      copies_.push_back(nullptr);
      gradient_whole_.push_back(nullptr);
      sum_there_.push_back(nullptr);
      continue;
    }
    StageInput copy = input;
    copy.stream = {.worker = place.worker.value, .workers = workers};
    copy.packets = place.packets;
    copies_.push_back(std::make_unique<Stage>(copy));
    gradient_whole_.push_back(copies_.back()->stream().make_fence());
    sum_there_.push_back(copies_.back()->stream().make_fence());
    for (const auto& before : copies_)
      if (before) require_reach(input.id, before->stream(), copies_.back()->stream());
  }
  for (int p = 0; has_any() && p < parameters_; ++p)
    gradient_bytes_ += static_cast<std::int64_t>(any().gradient(p).size_bytes());
  parts_.resize(copies_.size());
  std::size_t notes = 0;
  for (const auto& copy : copies_)
    if (copy) notes += copy->statistics().entries().size();
  notes_.reserve(notes);
}

void StageCopies::prepare(std::span<const MicrobatchSize> sizes,
                          std::vector<CompiledStage> of_first) {
  if (has(0)) first().prepare(std::move(of_first));
  std::vector<MicrobatchSize> trains;
  std::ranges::copy_if(sizes, std::back_inserter(trains),
                       [](const MicrobatchSize& size) { return size.mode == Mode::Train; });
  for (int c = 1; c < count(); ++c)
    if (has(c)) copy(c).prepare(trains);
}

void StageCopies::keep_up_delta(bool on) {
  for (const auto& stage : copies_)
    if (stage) stage->keep_up_delta(on);
}

void StageCopies::join_ranks(PartsLink& link, std::vector<int> ranks) {
  parts_link_ = &link;
  ranks_ = std::move(ranks);
}

void StageCopies::begin() {
  const std::lock_guard lock(mutex_);
  summed_ = 0;
  handed_in_ = 0;
  all_here_ = false;
  running_ = true;
}

void StageCopies::end() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  if (parts_link_) parts_link_->settle();
}

int StageCopies::here() const {
  return static_cast<int>(
      std::ranges::count_if(copies_, [](const auto& c) { return c != nullptr; }));
}

Stage& StageCopies::any() const {
  return **std::ranges::find_if(copies_, [](const auto& copy) { return copy != nullptr; });
}

void StageCopies::hand_in_gradient(int copy, const HandIn& update) {
  Stage& mine = this->copy(copy);
  mine.complete_gradients();
  if (device_sum_) {
    device_sum_->begin();
    update_ = update;
    return;
  }
  mine.stream().record(*gradient_whole_[copy]);
  {
    const std::lock_guard lock(mutex_);
    update_ = update;
    if (++handed_in_ < here()) return;
    last_here_ = copy;
  }
  if (parts_link_) hand_to_others();
  {
    const std::lock_guard lock(mutex_);
    all_here_ = true;
    if (!whole()) return;  // the thread that receives the rest adds up
  }
  put_sums(copy);
}

void StageCopies::take_parts(std::int64_t update, PartsLink::Parts parts) {
  {
    const std::lock_guard lock(mutex_);
    came_[update].push_back(std::move(parts));
    if (!running_ || update != all_updates_ || !whole()) return;
  }
  parts_link_->later([this] { put_sums(last_here_); });
}

// Have all copies of all ranks handed in? Called under the lock.
bool StageCopies::whole() const {
  if (!all_here_ || !parts_link_) return all_here_;
  const auto came = came_.find(all_updates_);
  return came != came_.end() && came->second.size() == ranks_.size();
}

// Meanwhile the others wait for summed_.
void StageCopies::put_sums(int by) {
  Stream& stream = copy(by).stream();
  for (const auto& whole : gradient_whole_)
    if (whole) stream.wait(*whole);
  add_up_gradients(stream, update_.mean_of);
  replay_statistics(stream, update_.last_step);
  stream.record(*sum_there_[by]);
  if (update_.whole) update_.whole();
  {
    const std::lock_guard lock(mutex_);
    handed_in_ = 0;
    all_here_ = false;
    came_.erase(all_updates_++);
    if (link_) link_->begin(all_reduce_seconds(link_->rate()));
    summed_by_ = by;
    ++summed_;
  }
  workers_.notify_all();
}

// Of the only copy on this rank, by its worker. Waits for the sum.
void StageCopies::take_device_sum(int copy) {
  device_sum_->finish();
  Stage& mine = this->copy(copy);
  for (int p = 0; p < parameters_ && update_.mean_of > 1; ++p) {
    const std::span<float> sum = mine.gradient(p);
    if (sum.empty()) continue;
    mine.stream().combine({.elements = std::ssize(sum),
                           .result = sum.data(),
                           .a = 1.0 / update_.mean_of,
                           .x = sum.data(),
                           .y = sum.data()});
  }
  ++summed_;
  if (update_.whole) update_.whole();
}

// ---- between ranks: parts of kind 0 are gradients, numbered copy by copy; those of kind 1 are
// what a micro-batch notes about running statistics, for all layers and buffers together.

void StageCopies::hand_to_others() {
  PartsLink::Parts parts;
  for (int c = 0; c < count(); ++c) {
    if (!has(c)) continue;
    Stage& stage = copy(c);
    stage.stream().finish();
    for (int p = 0; p < parameters_; ++p) {
      const std::span<const float> values = stage.gradient(p);
      parts.push_back({0, c * parameters_ + p, 0, 0, {values.begin(), values.end()}});
    }
    add_statistics(c, parts);
  }
  parts_link_->hand_in({id_.value, all_updates_}, parts, ranks_);
}

void StageCopies::add_statistics(int c, PartsLink::Parts& parts) const {
  Stage& stage = copy(c);
  for (const StatisticsLog::Entry& entry : stage.statistics().entries()) {
    if (!entry.taken || std::cmp_greater(entry.step, update_.last_step)) continue;
    parts.push_back({.kind = 1,
                     .index = c,
                     .step = static_cast<std::int64_t>(entry.step),
                     .microbatch = static_cast<std::int64_t>(entry.microbatch),
                     .values = {}});
    PartsLink::Part& part = parts.back();
    for (int l = 0; l < stage.layers(); ++l)
      for (std::size_t b = 0; b < entry.buffers[l].size(); ++b) {
        const auto* const values = static_cast<const float*>(entry.buffers[l][b]);
        part.values.insert(part.values.end(), values,
                           values + stage.layer(l).buffers[b].shape.elements());
      }
  }
}

// Makes entries of this rank's log from the values that arrived.
void StageCopies::take_remote_statistics() {
  remote_notes_.clear();
  if (!parts_link_) return;
  const Stage& stage = any();
  for (PartsLink::Parts& parts : came_[all_updates_])
    for (PartsLink::Part& part : parts) {
      if (part.kind != 1) continue;
      StatisticsLog::Entry& entry = remote_notes_.emplace_back();
      entry.step = static_cast<std::uint64_t>(part.step);
      entry.microbatch = static_cast<std::uint64_t>(part.microbatch);
      float* values = part.values.data();
      for (int l = 0; l < stage.layers(); ++l) {
        auto& buffers = entry.buffers.emplace_back();
        for (const Buffer& buffer : stage.layer(l).buffers) {
          buffers.push_back(values);
          values += buffer.shape.elements();
        }
      }
      notes_.push_back(&entry);
    }
}

float* StageCopies::gradient_of(int c, int parameter) {
  if (has(c)) return copy(c).gradient(parameter).data();
  for (PartsLink::Parts& parts : came_[all_updates_])
    for (PartsLink::Part& part : parts)
      if (part.kind == 0 && part.index == c * parameters_ + parameter) return part.values.data();
  PIPETRAIN_CHECK(false, "no rank has handed in copy {} of stage {}", c, id_.value);
}

void StageCopies::add_up_gradients(Stream& stream, int mean_of) {
  for (int p = 0; p < parameters_; ++p) {
    const auto elements = static_cast<std::int64_t>(any().gradient(p).size());
    if (elements == 0) continue;  // not trained
    {
      const std::lock_guard lock(mutex_);
      for (int c = 0; c < count(); ++c) parts_[c] = gradient_of(c, p);
    }
    stream.add_up({.elements = elements, .parts = parts_});
    for (int c = 0; c < count(); ++c)
      if (mean_of > 1 && has(c))
        stream.combine({.elements = elements,
                        .result = parts_[c],
                        .a = 1.0 / mean_of,
                        .x = parts_[c],
                        .y = parts_[c]});
  }
}

void StageCopies::replay_statistics(Stream& stream, std::int64_t last_step) {
  notes_.clear();
  {
    const std::lock_guard lock(mutex_);
    take_remote_statistics();
  }
  for (const auto& copy : copies_) {
    if (!copy) continue;
    for (StatisticsLog::Entry& entry : copy->statistics().entries())
      if (entry.taken && std::cmp_less_equal(entry.step, last_step)) notes_.push_back(&entry);
  }
  std::ranges::sort(notes_, {}, &StatisticsLog::Entry::when);
  for (StatisticsLog::Entry* entry : notes_) {
    for (const auto& copy : copies_)
      if (copy) copy->apply_statistics(*entry, stream);
    StatisticsLog::give_back(*entry);
  }
}

bool StageCopies::summed(std::int64_t update) const {
  const std::lock_guard lock(mutex_);
  return closed_ || summed_ > update || (device_sum_ && device_sum_->can_finish());
}

void StageCopies::take_sum(int copy, std::int64_t update) {
  if (device_sum_) {
    if (summed_ <= update) take_device_sum(copy);
    return;
  }
  int by = 0;
  {
    std::unique_lock lock(mutex_);
    wait_with(parts_link_ ? &parts_link_->wire_thread() : nullptr, lock, workers_,
              [&] { return closed_ || summed_ > update; });
    if (link_) link_->wait(lock, workers_, [&] { return closed_; });
    if (closed_) throw ChannelClosed();
    by = summed_by_;
  }
  this->copy(copy).stream().wait(*sum_there_[by]);
}

void StageCopies::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (device_sum_) device_sum_->close();
  workers_.notify_all();
}

HeldMemory StageCopies::memory() const {
  HeldMemory sum;
  for (const auto& stage : copies_)
    if (stage) sum = sum + stage->memory();
  return sum;
}

}  // namespace pipetrain
