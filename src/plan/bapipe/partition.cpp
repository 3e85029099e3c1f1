#include "plan/bapipe/partition.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "base/check.hpp"

namespace pipetrain {
namespace {

constexpr double kNoWay = std::numeric_limits<double>::infinity();

// Which stages and cuts a search may use.
struct PartitionRules {
  bool must_fit = false;
  double longest_transfer_ms = kNoWay;
};

// Dynamic programming over (stages, layers), from both ends: front(s, j) is the time of the slowest
// stage, as small as possible, if stages 0..s-1 hold layers 0..j-1 and stage s begins with layer j;
// back(s, j) is that of stages s.. over layers j.., after fill_backs().
class TwoEnds {
 public:
  TwoEnds(const PipelineCosts& costs, const PartitionRules& rules)
      : costs_(costs),
        rules_(rules),
        stages_(costs.stages()),
        layers_(costs.layers()),
        front_(table()) {
    at(front_, 0, 0).value = 0;
    for (int s = 1; s <= stages_; ++s)
      for (int j = s; j <= layers_; ++j) fill_front(s, j);
  }

  void fill_backs() {
    back_ = table();
    at(back_, stages_, layers_).value = 0;
    for (int s = stages_ - 1; s >= 0; --s)
      for (int j = layers_ - 1; j >= s; --j) fill_back(s, j);
  }

  double front(int stage, int layer) const { return at(front_, stage, layer).value; }
  double back(int stage, int layer) const { return at(back_, stage, layer).value; }
  double slowest_ms() const { return front(stages_, layers_); }  // infinite: nothing is possible

  // May a stage have these layers?
  bool allows(int stage, const StageLoad& cost) const {
    return !rules_.must_fit || costs_.fits(stage, cost.bytes);
  }

  // The partition whose slowest stage is fastest.
  StageCuts best() const {
    return around(stages_ - 1, at(front_, stages_, layers_).other, layers_);
  }

  // The partition in which `stage` has layers [first, end) and all others are as fast as possible.
  StageCuts around(int stage, int first, int end) const {
    StageCuts cuts(stages_);
    for (int s = stage, j = first; s >= 0; --s) {
      cuts[s] = j;
      j = at(front_, s, j).other;
    }
    for (int s = stage + 1, j = end; s < stages_; ++s) {
      cuts[s] = j;
      j = at(back_, s, j).other;
    }
    return cuts;
  }

 private:
  struct Entry {
    double value = kNoWay;
    int other = 0;  // the stage's other end
  };
  using EntryTable = Indexed<Indexed<Entry>>;

  EntryTable table() const { return EntryTable(stages_ + 1, Indexed<Entry>(layers_ + 1)); }
  static Entry& at(EntryTable& table, int stage, int layer) { return table[stage][layer]; }
  static const Entry& at(const EntryTable& table, int stage, int layer) {
    return table[stage][layer];
  }

  bool may_begin(int stage, int layer) const {
    if (stage == 0 || stage == stages_) return layer == (stage == 0 ? 0 : layers_);
    return costs_.transfer_ms(stage - 1, layer) <= rules_.longest_transfer_ms;
  }

  // A longer stage takes no less time: once slower than the best so far, all longer ones are too.
  void fill_front(int stage, int end) {
    if (!may_begin(stage, end)) return;
    Entry& best = at(front_, stage, end);
    for (int first = end - 1; first >= stage - 1; --first) {
      const StageLoad cost = costs_.of(stage - 1, first, end);
      if (cost.compute_ms() >= best.value) break;
      take(best, std::max(front(stage - 1, first), cost.compute_ms()), first, stage - 1, cost);
    }
  }

  void fill_back(int stage, int first) {
    if (!may_begin(stage, first)) return;
    Entry& best = at(back_, stage, first);
    for (int end = first + 1; end <= layers_; ++end) {
      const StageLoad cost = costs_.of(stage, first, end);
      if (cost.compute_ms() >= best.value) break;
      take(best, std::max(back(stage + 1, end), cost.compute_ms()), end, stage, cost);
    }
  }

  void take(Entry& best, double value, int other, int stage, const StageLoad& cost) const {
    if (value < best.value && allows(stage, cost)) best = {value, other};
  }

  const PipelineCosts& costs_;
  PartitionRules rules_;
  int stages_, layers_;
  EntryTable front_, back_;
};

// Every length that a transfer can have; 0 if nothing is sent.
std::set<double> transfer_lengths(const PipelineCosts& costs) {
  std::set<double> lengths;
  for (int boundary = 0; boundary + 1 < costs.stages(); ++boundary)
    for (int cut = boundary + 1; cut < costs.layers(); ++cut)
      lengths.insert(costs.transfer_ms(boundary, cut));
  if (lengths.empty()) lengths.insert(0);
  return lengths;
}

struct BestSoFar {
  double step_ms = kNoWay;
  StageCuts cuts;
};

// Partitions without a transfer longer than `longest_ms`, with a step's time as if one took exactly
// that long: the true shortest step is found when `longest_ms` is its longest transfer. The slowest
// stage decides which transfers are hidden, so each range of layers is tried as the slowest.
void search_up_to(const PipelineCosts& costs, double longest_ms, TwoEnds& ends, BestSoFar& best) {
  ends.fill_backs();
  const BapipeSchedule& schedule = *costs.spec().schedule;
  for (int stage = 0; stage < costs.stages(); ++stage)
    for (int first = stage; first < costs.layers(); ++first) {
      if (ends.front(stage, first) == kNoWay) continue;
      for (int end = first + 1; end <= costs.layers(); ++end) {
        const StageLoad slowest = costs.of(stage, first, end);
        const double others = std::max(ends.front(stage, first), ends.back(stage + 1, end));
        const PipelinePace pace{slowest.forward_ms, slowest.backward_ms, longest_ms};
        const double time = step_ms(schedule, costs.stages(), costs.spec().microbatches, pace);
        if (time >= best.step_ms) break;  // a longer stage takes no less time
        if (slowest.compute_ms() >= others && longest_ms <= schedule.hidden_ms(pace) &&
            ends.allows(stage, slowest))
          best = {time, ends.around(stage, first, end)};
      }
    }
}

// By halves, since most lengths need no search of their own: with the fastest stages that the
// longest of them allows, and the transfers of the shortest, a step would be no shorter than the
// best so far.
void search_lengths(const PipelineCosts& costs, std::span<const double> lengths, BestSoFar& best) {
  TwoEnds ends(costs, {.must_fit = true, .longest_transfer_ms = lengths.back()});
  if (ends.slowest_ms() == kNoWay) return;
  const PipelinePace at_best{ends.slowest_ms(), 0, lengths.front()};
  if (step_ms(*costs.spec().schedule, costs.stages(), costs.spec().microbatches, at_best) >=
      best.step_ms)
    return;
  if (lengths.size() == 1) return search_up_to(costs, lengths[0], ends, best);
  const std::size_t half = lengths.size() / 2;
  search_lengths(costs, lengths.first(half), best);
  search_lengths(costs, lengths.subspan(half), best);
}

}  // namespace

StageCuts balanced_partition(const PipelineCosts& costs) {
  PIPETRAIN_CHECK(costs.layers() >= costs.stages(), "{} stages of {} layers", costs.stages(),
                  costs.layers());
  return TwoEnds(costs, {}).best();
}

std::optional<StageCuts> best_partition(const PipelineCosts& costs) {
  if (costs.layers() < costs.stages()) return std::nullopt;
  BestSoFar best;
  const std::set<double> lengths = transfer_lengths(costs);
  search_lengths(costs, std::vector(lengths.begin(), lengths.end()), best);
  if (best.step_ms == kNoWay) return std::nullopt;
  return best.cuts;
}

}  // namespace pipetrain
