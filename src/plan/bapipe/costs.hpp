// What a stage costs under one schedule, for any range of layers on any device of a pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/indexed.hpp"
#include "plan/bapipe/schedules.hpp"
#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"

namespace pipetrain {

// A pipeline with one stage per device, in the order of the cluster.
struct PipelineSpec {
  const BapipeSchedule* schedule = nullptr;
  int microbatches = 1;
  Indexed<double> speeds;                       // by stage
  Indexed<std::optional<std::int64_t>> memory;  // by stage, bytes
  Indexed<Wire> wires;                          // by boundary: stage i to i + 1

  int stages() const { return static_cast<int>(speeds.size()); }
};

// Layers [first, end), or a share of them, on the device of a stage.
struct StageLoad {
  double forward_ms = 0, backward_ms = 0, bytes = 0;

  double compute_ms() const { return forward_ms + backward_ms; }
  StageLoad operator+(const StageLoad& other) const {
    return {forward_ms + other.forward_ms, backward_ms + other.backward_ms, bytes + other.bytes};
  }
  StageLoad operator*(double share) const {
    return {forward_ms * share, backward_ms * share, bytes * share};
  }
};

class PipelineCosts {
 public:
  // Both must outlive this object.
  PipelineCosts(const LayerChain& chain, const PipelineSpec& spec);

  int layers() const { return static_cast<int>(chain_.layers.size()); }
  int stages() const { return spec_.stages(); }
  const PipelineSpec& spec() const { return spec_; }

  StageLoad of(int stage, int first, int end) const;
  // Do these bytes fit the stage's device?
  bool fits(int stage, double bytes) const;
  // The time over a boundary if the next stage begins with layer `cut`.
  double transfer_ms(int boundary, int cut) const;
  // The time of this many bytes; a latency counts even for 0 bytes.
  double travel_ms(int boundary, double bytes) const;
  // What crosses a cut before a layer; 0 before the first.
  double sent_bytes(int cut) const;

 private:
  struct Sums {  // over the layers before one
    double forward_ms = 0, backward_ms = 0, saved_bytes = 0, parameter_bytes = 0;
  };

  const LayerChain& chain_;
  const PipelineSpec& spec_;
  Indexed<Sums> before_;
  Indexed<int> kept_;  // by stage: micro-batches
};

// The first layer of each stage; [0] = 0.
using StageCuts = Indexed<int>;

// The cost of each stage, and of the transfer over each boundary.
struct CutCosts {
  Indexed<StageLoad> stages;
  Indexed<double> transfers_ms;
};
CutCosts costs_of(const PipelineCosts& costs, const StageCuts& cuts);

// Of stages that take equal time, the one with the longest forward counts as the slowest.
int slowest_stage(const CutCosts& cut);
// The slowest stage's times and the longest transfer.
PipelinePace pace_of(const CutCosts& cut);
double step_ms(const PipelineSpec& spec, const CutCosts& cut);

// Does every stage fit its device?
bool fits(const PipelineCosts& costs, const CutCosts& cut);
// Is every transfer short enough for the schedule's formula to hold?
bool hides_transfers(const PipelineSpec& spec, const CutCosts& cut);

}  // namespace pipetrain
