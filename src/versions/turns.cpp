#include "versions/turns.hpp"

#include "base/check.hpp"
#include "base/indexed.hpp"

namespace pipetrain {
namespace {

using ComputeList = std::vector<ComputeInstruction>;

// Channels are first in, first out, so that counts say what has come.
struct SlotClock {
  const CompactOrder& order;
  Indexed<Version> turns = Indexed<Version>(order.total_microbatches());
  Indexed<int> activations = Indexed<int>(order.stages + 1),
               gradients = activations;  // per stage: come and not yet used
  Version stage_0 = {0};
  int stage_0_done = 0;  // weight gradients of its present mini-batch

  bool ready(const ComputeInstruction& i) const {
    const int s = i.stage().value;
    if (i.op() == Op::Forward) return s == 0 || activations[s] > 0;
    if (!gives_input_gradient(i.op())) return true;
    return i.stage().value == order.stages - 1 || gradients[s] > 0;
  }

  void run(const ComputeInstruction& i, int round, Version stage_0_before) {
    const int s = i.stage().value;
    if (i.op() == Op::Forward) {
      --activations[s];
      ++activations[s + 1];
    } else if (gives_input_gradient(i.op())) {
      --gradients[s];
      if (s > 0) ++gradients[s - 1];
      if (i.stage().value == order.stages - 1)
        turns[i.microbatch().value + round * order.microbatches] = stage_0_before;
    }
    if (s == 0 && gives_weight_gradient(i.op()) && ++stage_0_done == order.microbatches) {
      stage_0_done = 0;
      ++stage_0.value;
    }
  }

  // The end of the slot that begins at `at`: as slot_length in bind.cpp.
  std::size_t slot_end(const ComputeList& list, std::size_t at) const {
    const ComputeInstruction& first = list[at];
    const auto goes_on = [&](const ComputeInstruction& i) {
      if (i.stage() != first.stage()) return false;
      if (i.op() == Op::BackwardWeight) return true;
      return order.gradients_together && is_backward(first.op()) && i.op() == first.op() &&
             order.minibatch_of(i.microbatch()) == order.minibatch_of(first.microbatch());
    };
    std::size_t end = at + 1;
    while (end < list.size() && goes_on(list[end])) ++end;
    return end;
  }
};

struct Place {
  int round = 0;
  std::size_t at = 0, end = 0;  // of the present slot
};

}  // namespace

std::vector<Version> turns_of(const CompactOrder& order) {
  PIPETRAIN_CHECK(!order.has_copies(), "a clock of slots counts no copies of stages");
  SlotClock clock{order};
  std::vector<Place> places(order.workers.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < places.size(); ++w) {
      Place& place = places[w];
      const ComputeList& list = order.workers[w];
      place.end = place.at;
      if (place.at == list.size() && !list.empty() && place.round + 1 < order.rounds())
        place = {place.round + 1, 0, 0};
      if (place.at < list.size() && clock.ready(list[place.at]))
        place.end = clock.slot_end(list, place.at);
    }
    const Version before = clock.stage_0;
    for (std::size_t w = 0; w < places.size(); ++w)
      for (Place& place = places[w]; place.at < place.end; ++place.at) {
        clock.run(order.workers[w][place.at], place.round, before);
        moved = true;
      }
  }
  return clock.turns;
}

}  // namespace pipetrain
