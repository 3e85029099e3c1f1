#include "plan/bapipe/layer_split.hpp"

#include <cmath>
#include <utility>

namespace pipetrain {
namespace {

// A split that shortens the step by less than this share is not worth a gather.
constexpr double kLeastGain = 1e-3;

// The slower of the two stages at a boundary gives the other a share x of its boundary layer, which
// takes t_left and t_right on their devices. Both then take equal time with
//   x = (slower - faster) / (t_left + t_right);
// At x >= 1 the whole layer would move, which is another partition.
struct SharedLayer {
  int layer = 0;
  double left_share = 0;
};

std::optional<SharedLayer> even_out(const PipelineCosts& costs, const StageCuts& cuts,
                                    const CutCosts& cut, int boundary) {
  const int left = boundary, right = left + 1;
  const double difference = cut.stages[right].compute_ms() - cut.stages[left].compute_ms();
  const int layer = difference > 0 ? cuts[right] : cuts[right] - 1;
  const double both = costs.of(boundary, layer, layer + 1).compute_ms() +
                      costs.of(boundary + 1, layer, layer + 1).compute_ms();
  const double given = std::abs(difference);
  if (given == 0 || given >= both) return std::nullopt;
  const double share = given / both;
  return SharedLayer{layer, difference > 0 ? share : 1 - share};
}

CutCosts costs_with(const PipelineCosts& costs, const StageCuts& cuts, int boundary,
                    const SharedLayer& shared) {
  CutCosts cut = costs_of(costs, cuts);
  const int left = boundary, right = left + 1;
  const int layer = shared.layer;
  const bool was_left = layer < cuts[right];
  const StageLoad on_left = costs.of(boundary, layer, layer + 1),
                  on_right = costs.of(boundary + 1, layer, layer + 1);
  cut.stages[left] = cut.stages[left] + on_left * (shared.left_share - (was_left ? 1 : 0));
  cut.stages[right] = cut.stages[right] + on_right * ((was_left ? 1 : 0) - shared.left_share);
  cut.transfers_ms[left] = costs.travel_ms(
      boundary, costs.sent_bytes(layer) + shared.left_share * costs.sent_bytes(layer + 1));
  return cut;
}

}  // namespace

std::optional<LayerSplit> best_layer_split(const PipelineCosts& costs, const StageCuts& cuts) {
  const CutCosts whole = costs_of(costs, cuts);
  double shortest = step_ms(costs.spec(), whole) * (1 - kLeastGain);
  std::optional<LayerSplit> best;
  for (int boundary = 0; boundary + 1 < costs.stages(); ++boundary) {
    const auto shared = even_out(costs, cuts, whole, boundary);
    if (!shared) continue;
    CutCosts split = costs_with(costs, cuts, boundary, *shared);
    const double time = step_ms(costs.spec(), split);
    if (time >= shortest || !fits(costs, split) || !hides_transfers(costs.spec(), split)) continue;
    shortest = time;
    best = LayerSplit{boundary, shared->layer, shared->left_share, std::move(split)};
  }
  return best;
}

}  // namespace pipetrain
