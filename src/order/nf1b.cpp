// N forwards, one backward: Dutta et al., "TiMePReSt: Time and Memory Efficient Pipeline Parallel
// DNN Training with Removed Staleness" (arXiv 2410.14312, figure 2). A stage runs the forwards of a
// mini-batch's micro-batches one by one, but one backward for all of them, as soon as it can; then
// it updates. Each forward or backward takes one slot and may use what an earlier slot made. At
// most P-s mini-batches are in flight on stage s, which binds only for N = 1: there the order is
// PipeDream's.
//
// 3 stages, 2 micro-batches; a backward is that of the whole mini-batch:
//   stage 0  F0 F1 F2 F3 F4 F5 B0|F6 F7 B1| .  . B2| .  . B3|
//   stage 1   . F0 F1 F2 F3 B0|F4 F5 B1|F6 F7 B2| .  . B3|
//   stage 2   .  . F0 F1 B0|F2 F3 B1|F4 F5 B2|F6 F7 B3|
#include <algorithm>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

// What each stage has done, slot by slot.
struct Slots {
  const OrderInput& in;
  std::vector<int> forwards, backwards;  // per stage: micro-batches, mini-batches done before now

  bool backward_is_ready(int s) const {
    const int next = backwards[s];
    if (next == in.minibatches) return false;
    if (s == in.stages - 1) return forwards[s] >= (next + 1) * in.microbatches;
    return backwards[static_cast<std::size_t>(s) + 1] > next;
  }
  bool forward_is_ready(int s) const {
    const auto at = static_cast<std::size_t>(s);
    const int next = forwards[at], begun = (next + in.microbatches - 1) / in.microbatches;
    if (next == in.minibatches * in.microbatches || (s > 0 && forwards[at - 1] <= next))
      return false;
    return next % in.microbatches != 0 || begun - backwards[at] < in.stages - s;
  }
};

CompactOrder lists(const OrderInput& in) {
  CompactOrder order = straight(in, [](ComputeList&, StageId) {});
  order.gradients_together = true;
  const auto stages = static_cast<std::size_t>(in.stages);
  Slots now{in, std::vector<int>(stages, 0), std::vector<int>(stages, 0)};
  while (now.backwards[0] < in.minibatches) {
    Slots next = now;
    for (int s = 0; s < in.stages; ++s) {
      auto& list = order.workers[s];
      if (now.backward_is_ready(s))
        list.repeat({backward({s}, next.backwards[s]++ * in.microbatches)}, in.microbatches, 1);
      else if (now.forward_is_ready(s))
        list.push_back(forward({s}, next.forwards[s]++));
    }
    now.forwards = next.forwards;
    now.backwards = next.backwards;
  }
  return order;
}

}  // namespace

extern const Order nf1b{.name = "nf1b",
                        .summary = "N forwards, one backward of the whole mini-batch",
                        .lists = lists,
                        .flushes = false};

}  // namespace pipetrain::orders
