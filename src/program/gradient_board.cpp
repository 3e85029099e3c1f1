#include "program/gradient_board.hpp"

#include <algorithm>
#include <utility>

namespace pipetrain {

GradientBoard::GradientBoard(const CompactOrder& order, const std::set<StageId>& syncing)
    : order_(order),
      syncing_(syncing),
      workers_(order.workers.size()),
      handed_in_(static_cast<std::size_t>(order.minibatches)) {
  for (StageId s{0}; s.value < order.stages; ++s.value) {
    const int copies = order.copies_of(s);
    for (int number = 0; number < copies; ++number) {
      const StageCopy copy{s, number, copies};
      workers_[static_cast<std::size_t>(order.worker_of(s, {number}).value)].held.push_back(copy);
      if (!syncing.contains(s)) continue;
      for (MinibatchId k{0}; k.value < order.minibatches; ++k.value)
        handed_in_[static_cast<std::size_t>(k.value)].missing += share(copy, k) > 0;
    }
  }
}

bool GradientBoard::count(int worker, StageId stage, int microbatch, double now) {
  Worker& me = workers_[static_cast<std::size_t>(worker)];
  auto& copy = *std::ranges::find(me.held, stage, &StageCopy::stage);
  if (++copy.done < order_.microbatches / copy.copies) return false;  // no share is smaller
  const MinibatchId k = order_.minibatch_of({microbatch});
  if (copy.done < share(copy, k)) return false;
  copy.done = 0;
  const bool waits = syncing_.contains(stage);
  if (waits) hand_in(me, stage, k, now);
  const auto taking_part =
      std::ranges::count_if(me.held, [&](const StageCopy& c) { return share(c, k) > 0; });
  if (++me.stages_done == taking_part) {
    me.stages_done = 0;
    if (!me.due.empty()) me.awaited = k.value;
  }
  return !waits;
}

void GradientBoard::hand_in(Worker& worker, StageId stage, MinibatchId k, double now) {
  HandedIn& handed_in = handed_in_[static_cast<std::size_t>(k.value)];
  handed_in.complete_at = std::max(handed_in.complete_at, now);
  worker.due.push_back(stage);
  if (--handed_in.missing > 0) return;
  released_.insert(released_.end(), handed_in.waiting.begin(), handed_in.waiting.end());
  handed_in.waiting.clear();
}

std::vector<int> GradientBoard::take_released() { return std::exchange(released_, {}); }

std::optional<double> GradientBoard::pass(int worker) {
  Worker& me = workers_[static_cast<std::size_t>(worker)];
  HandedIn& handed_in = handed_in_[static_cast<std::size_t>(me.awaited)];
  if (handed_in.missing > 0) {
    handed_in.waiting.push_back(worker);
    return std::nullopt;
  }
  me.awaited = -1;
  return handed_in.complete_at;
}

std::vector<StageId> GradientBoard::take_due(int worker) {
  return std::exchange(workers_[static_cast<std::size_t>(worker)].due, {});
}

}  // namespace pipetrain
