// A model as planners see it: layers in a row, each with its times and bytes, to be cut between any
// two. Where branches run side by side, a layer of the chain represents everything that is computed
// between two cuts (the antichains of plan/pipedream).
//
// Times are those of one micro-batch on the reference device (speed 1), in milliseconds. Bytes are
// also per micro-batch, except for parameters, which exist once. All are finite and at least 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrain {

struct ChainLayer {
  std::string name;
  double forward_ms = 0;
  double backward_input_ms = 0;   // what the previous stage waits for: a half, or all of it
  double backward_weight_ms = 0;  // 0 if the halves were not measured separately
  double update_ms = 0;           // once per mini-batch
  double cut_forward_ms = 0, cut_backward_ms = 0;  // added by a cut after it
  double split_backward_ms = 0;  // added to the weight half by schedules that split the backward
  std::int64_t sent_bytes = 0;   // over a cut after it; gradients of the same size come back
  std::int64_t saved_bytes = 0;  // kept from its forward to its backward
  std::int64_t parameter_bytes = 0;

  double backward_ms() const { return backward_input_ms + backward_weight_ms; }
  double compute_ms() const { return forward_ms + backward_ms(); }
};

struct LayerChain {
  std::vector<ChainLayer> layers;
  int microbatch_samples = 1;  // in a micro-batch to which the numbers apply
};

}  // namespace pipetrain
