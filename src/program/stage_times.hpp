// How long each kind of instruction takes on each stage, worked out once for a walk.
#pragma once

#include <algorithm>
#include <vector>

#include "program/compact_order.hpp"
#include "program/costs.hpp"

namespace pipetrain {

// For one micro-batch on one stage.
struct StageTimes {
  double forward, backward, head, tail, input_half, weight_half, update;
  double activation, gradient;  // transfers over the boundary to the next stage
  bool operator==(const StageTimes&) const = default;
};

class StageTimeTable {
 public:
  StageTimeTable(const CompactOrder& order, const Costs& costs) {
    const int packets = order.gradients_together ? order.microbatches : 1;
    for (StageId s{0}; s.value < order.stages; ++s.value) {
      const StageCosts& c = costs.of(s);
      const bool last = s.value == order.stages - 1 && s.value > 0;  // has no next stage to send to
      const StageCosts& boundary = last ? costs.of({s.value - 1}) : c;
      times_.push_back({time_of(c, Op::Forward), time_of(c, Op::Backward),
                        time_of(c, Op::BackwardHead), time_of(c, Op::BackwardTail),
                        time_of(c, Op::BackwardInput), time_of(c, Op::BackwardWeight),
                        time_of(c, Op::Update), boundary.transfer,
                        packets * boundary.gradient_transfer.value_or(boundary.transfer)});
    }
    // One entry for all stages if they are alike: it stays in the cache.
    const StageTimes first = times_[0];
    if (std::ranges::all_of(times_, [&](const auto& times) { return times == first; }))
      times_.erase(times_.begin() + 1, times_.end());
  }

  const StageTimes& at(StageId s) const {
    return times_[times_.size() == 1 ? 0 : static_cast<std::size_t>(s.value)];
  }
  bool any_update() const {
    return std::ranges::any_of(times_, [](const auto& times) { return times.update != 0; });
  }

 private:
  std::vector<StageTimes> times_;
};

}  // namespace pipetrain
