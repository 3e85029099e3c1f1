#include "plan/bapipe/costs.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

PipelineCosts::PipelineCosts(const LayerChain& chain, const PipelineSpec& spec)
    : chain_(chain), spec_(spec), before_(1) {
  PIPETRAIN_CHECK(spec.schedule && spec.stages() >= 1, "a pipeline of {} stages", spec.stages());
  PIPETRAIN_CHECK(
      std::ssize(spec.memory) == spec.stages() && std::ssize(spec.wires) + 1 == spec.stages(),
      "{} stages have {} memories and {} wires", spec.stages(), spec.memory.size(),
      spec.wires.size());
  for (const ChainLayer& layer : chain.layers) {
    Sums sums = before_.back();
    sums.forward_ms += layer.forward_ms;
    sums.backward_ms += layer.backward_ms();
    sums.saved_bytes += static_cast<double>(layer.saved_bytes);
    sums.parameter_bytes += static_cast<double>(layer.parameter_bytes);
    before_.push_back(sums);
  }
  for (int s = 0; s < spec.stages(); ++s)
    kept_.push_back(features_kept(*spec.schedule, spec.stages(), s, spec.microbatches));
}

StageLoad PipelineCosts::of(int stage, int first, int end) const {
  const Sums& from = before_[first];
  const Sums& to = before_[end];
  return {(to.forward_ms - from.forward_ms) / spec_.speeds[stage],
          (to.backward_ms - from.backward_ms) / spec_.speeds[stage],
          kept_[stage] * (to.saved_bytes - from.saved_bytes) +
              kWeightCopies * (to.parameter_bytes - from.parameter_bytes)};
}

bool PipelineCosts::fits(int stage, double bytes) const {
  const auto& room = spec_.memory[stage];
  return !room || bytes <= static_cast<double>(*room);
}

double PipelineCosts::sent_bytes(int cut) const {
  return cut == 0
             ? 0
             : static_cast<double>(chain_.layers[static_cast<std::size_t>(cut) - 1].sent_bytes);
}

double PipelineCosts::travel_ms(int boundary, double bytes) const {
  return pipetrain::travel_ms(spec_.wires[boundary], bytes);
}

double PipelineCosts::transfer_ms(int boundary, int cut) const {
  return travel_ms(boundary, sent_bytes(cut));
}

CutCosts costs_of(const PipelineCosts& costs, const StageCuts& cuts) {
  CutCosts cut;
  for (int s = 0; s < costs.stages(); ++s) {
    const int first = cuts[s];
    const bool is_last = s + 1 == costs.stages();
    const int end = is_last ? costs.layers() : cuts[s + 1];
    cut.stages.push_back(costs.of(s, first, end));
    if (!is_last) cut.transfers_ms.push_back(costs.transfer_ms(s, end));
  }
  return cut;
}

int slowest_stage(const CutCosts& cut) {
  const auto slower = [](const StageLoad& a, const StageLoad& b) {
    return a.compute_ms() != b.compute_ms() ? a.compute_ms() < b.compute_ms()
                                            : a.forward_ms < b.forward_ms;
  };
  return static_cast<int>(std::ranges::max_element(cut.stages, slower) - cut.stages.begin());
}

PipelinePace pace_of(const CutCosts& cut) {
  const StageLoad& slowest = cut.stages[slowest_stage(cut)];
  const double transfer =
      cut.transfers_ms.empty() ? 0 : *std::ranges::max_element(cut.transfers_ms);
  return {slowest.forward_ms, slowest.backward_ms, transfer};
}

double step_ms(const PipelineSpec& spec, const CutCosts& cut) {
  return step_ms(*spec.schedule, spec.stages(), spec.microbatches, pace_of(cut));
}

bool fits(const PipelineCosts& costs, const CutCosts& cut) {
  for (int s = 0; s < costs.stages(); ++s)
    if (!costs.fits(s, cut.stages[s].bytes)) return false;
  return true;
}

bool hides_transfers(const PipelineSpec& spec, const CutCosts& cut) {
  const PipelinePace pace = pace_of(cut);
  return pace.transfer_ms <= spec.schedule->hidden_ms(pace);
}

}  // namespace pipetrain
