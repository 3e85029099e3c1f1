#include "versions/turns.hpp"

#include "base/check.hpp"
#include "base/indexed.hpp"

namespace pipetrain {
namespace {

// Channels are first in, first out, so counts show what has arrived.
struct SlotClock {
  const CompactOrder& order;
  Indexed<Version> turns = Indexed<Version>(order.total_microbatches());
  Indexed<int> activations = Indexed<int>(order.stages + 1),
               gradients = activations;  // per stage: arrived and not used yet
  Version stage_0 = {0};
  int stage_0_done = 0;  // weight gradients of its current mini-batch

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

  // How many instructions, starting at `at`, take one slot together: as slot_length in bind.cpp.
  int slot_length(ComputeList::Cursor at) const {
    const ComputeInstruction first = *at;
    const auto goes_on = [&](const ComputeInstruction& i) {
      if (i.stage() != first.stage()) return false;
      if (i.op() == Op::BackwardWeight) return true;
      return order.gradients_together && is_backward(first.op()) && i.op() == first.op() &&
             order.minibatch_of(i.microbatch()) == order.minibatch_of(first.microbatch());
    };
    int length = 1;
    while (++at != std::default_sentinel && goes_on(*at)) ++length;
    return length;
  }
};

struct Place {
  ComputeList::Cursor at;
  int round = 0;
  int now = 0;  // instructions in the current slot
};

}  // namespace

std::vector<Version> turns_of(const CompactOrder& order) {
  PIPETRAIN_CHECK(!order.has_copies(), "a clock of slots counts no copies of stages");
  SlotClock clock{order};
  std::vector<Place> places;
  for (const ComputeList& list : order.workers) places.push_back({list.begin()});
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < places.size(); ++w) {
      Place& place = places[w];
      const bool ended = place.at == std::default_sentinel;
      if (ended && place.round + 1 < order.rounds())
        place = {order.workers[w].begin(), place.round + 1};
      if (place.at != std::default_sentinel && clock.ready(*place.at))
        place.now = clock.slot_length(place.at);
    }
    const Version before = clock.stage_0;
    for (Place& place : places)
      for (; place.now > 0; --place.now, ++place.at) {
        clock.run(*place.at, place.round, before);
        moved = true;
      }
  }
  return clock.turns;
}

}  // namespace pipetrain
