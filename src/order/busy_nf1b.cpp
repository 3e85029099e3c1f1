// nf1b for the times that a machine has. The order of TiMePReSt's figures (nf1b.cpp) gives the
// backward of a whole mini-batch one slot, as it does the forward of a micro-batch; where it takes
// longer, stages wait. Here a list scheduler (list_scheduler.hpp) makes the order before the run,
// from the time F of a micro-batch's forward and the time B of a mini-batch's backward, so that no
// worker waits while it has something ready. Ours: the papers draw slots only.
//
// 3 stages, 2 micro-batches, 3 mini-batches, F = 1, B = 4; a backward is that of the whole
// mini-batch:
//   stage 0  F0 F1 F2 F3 F4 F5  .  .  .  .  .  . B0---------| .  . B1---------| .  . B2---------|
//   stage 1   . F0 F1 F2 F3 F4 F5  . B0---------| .  . B1---------| .  . B2---------|
//   stage 2   .  . F0 F1 B0---------|F2 F3 B1---------|F4 F5 B2---------|
#include <map>

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"
#include "order/list_scheduler.hpp"

namespace pipetrain::orders {
namespace {

constexpr int kMostMinibatches = 10000;  // in which the steady state has to be found

Repetition repetition(const OrderInput& in) {
  std::map<std::vector<std::int64_t>, int> seen;  // after which backward of stage 0
  Repetition found;
  ListScheduler scheduler(in, ListScheduler::Length::Endless);
  scheduler.run([&](ComputeInstruction i) {
    if (i.stage().value != 0 || i.op() == Op::Forward) return true;
    const int k = i.microbatch().value / in.microbatches;
    const auto [at, is_new] = seen.try_emplace(scheduler.state(), k);
    if (!is_new) found = {at->second, k - at->second};
    return is_new && k < kMostMinibatches;
  });
  if (found.minibatches == 0)
    throw UsageError(fmt::format(
        "with these times the order does not repeat itself within {} mini-batches; write smaller "
        "numbers for forward and backward",
        kMostMinibatches));
  return found;
}

CompactOrder lists(const OrderInput& in) {
  CompactOrder order = straight(in, [](ComputeList&, StageId) {});
  order.gradients_together = true;
  order.period = repetition(in).minibatches;
  ListScheduler(in).run([&](ComputeInstruction i) {
    auto& list = order.workers[i.stage().value];
    if (i.op() == Op::Forward)
      list.push_back(i);
    else
      list.repeat({i}, in.microbatches, 1);
    return true;
  });
  return order;
}

}  // namespace

extern const Order busy_nf1b{.name = "busy_nf1b",
                             .summary =
                                 "N forwards, one backward; no worker waits while it has "
                                 "something ready",
                             .lists = lists,
                             .flushes = false,
                             .repetition = repetition};

}  // namespace pipetrain::orders
