#include "program/gradient_board.hpp"

#include <algorithm>
#include <utility>

namespace pipetrain {

GradientBoard::GradientBoard(const CompactOrder& order, const std::set<StageId>& syncing)
    : order_(order), syncing_(syncing), workers_(order.workers.size()) {
  for (StageId s{0}; s.value < order.stages; ++s.value) {
    const auto group = static_cast<std::size_t>(std::max(0, order.sync_group_of(s)));
    if (group >= members_.size()) members_.resize(group + 1, 0);
    for (int number = 0; number < order.copies_of(s); ++number) {
      const StageCopy copy{s, number};
      workers_[static_cast<std::size_t>(order.worker_of_copy(s, number).value)].held.push_back(
          copy);
      if (syncing.contains(s)) members_[group] += takes_part(copy);
    }
  }
}

// A copy has no part if a mini-batch has fewer micro-batches than there are copies.
bool GradientBoard::takes_part(const StageCopy& copy) const {
  return order_.whole_minibatches || order_.share_of(copy.stage, copy.copy, {0}) > 0;
}

std::int64_t GradientBoard::key(const Waiting& update) const {
  return static_cast<std::int64_t>(order_.sync_group_of(update.stage)) * order_.minibatches +
         update.update;
}

GradientBoard::HandedIn& GradientBoard::handed_in(const Waiting& update) {
  const auto [at, made] = handed_in_.try_emplace(key(update));
  if (made) {
    const auto group = static_cast<std::size_t>(order_.sync_group_of(update.stage));
    at->second.missing = at->second.to_pass = members_[group];
  }
  return at->second;
}

bool GradientBoard::count(int worker, StageId stage, int microbatch, double now) {
  Worker& me = workers_[static_cast<std::size_t>(worker)];
  auto& copy = *std::ranges::find(me.held, stage, &StageCopy::stage);
  const MinibatchId k = order_.minibatch_of({microbatch});
  if (++copy.done < order_.share_of(stage, copy.copy, k)) return false;
  copy.done = 0;
  const bool waits = syncing_.contains(stage);
  if (waits) hand_in(me, {stage, order_.update_for(stage, k)}, now);
  const auto taking_part =
      std::ranges::count_if(me.held, [&](const StageCopy& c) { return takes_part(c); });
  if (++me.stages_done == taking_part) {
    me.stages_done = 0;
    me.waits = !me.due.empty();
  }
  return !waits;
}

void GradientBoard::end(int worker, double now) {
  Worker& me = workers_[static_cast<std::size_t>(worker)];
  if (std::exchange(me.ended, true)) return;
  for (const StageCopy& copy : me.held) {
    const int last = order_.updates_of(copy.stage) - 1;
    if (order_.is_idle(copy.stage, copy.copy, last)) hand_in(me, {copy.stage, last}, now);
  }
  me.waits = !me.due.empty();
}

void GradientBoard::hand_in(Worker& worker, const Waiting& update, double now) {
  HandedIn& handed = handed_in(update);
  handed.complete_at = std::max(handed.complete_at, now);
  worker.due.push_back(update);
  if (--handed.missing > 0) return;
  released_.insert(released_.end(), handed.waiting.begin(), handed.waiting.end());
  handed.waiting.clear();
}

std::vector<int> GradientBoard::take_released() { return std::exchange(released_, {}); }

bool GradientBoard::awaits(int worker) const {
  return workers_[static_cast<std::size_t>(worker)].waits;
}

std::optional<GradientBoard::Due> GradientBoard::pass(int worker) {
  Worker& me = workers_[static_cast<std::size_t>(worker)];
  const Waiting next = me.due.front();
  HandedIn& handed = handed_in(next);
  if (handed.missing > 0) {
    handed.waiting.push_back(worker);
    return std::nullopt;
  }
  const Due due{next.stage, handed.complete_at};
  if (--handed.to_pass == 0) handed_in_.erase(key(next));
  me.due.pop_front();
  me.waits = !me.due.empty();
  return due;
}

}  // namespace pipetrain
