// A model as the planners see it: layers in a row, each with its times and bytes, cut between any
// two. Where branches run side by side a layer of the chain stands for all that is computed between
// two cuts (the antichains of plan/pipedream).
//
// Times are of one micro-batch on the reference device (speed 1), in milliseconds; bytes are of one
// micro-batch too, but for the parameters, which are there once. All are finite and at least 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrain {

struct ChainLayer {
  std::string name;
  double forward_ms = 0;
  double backward_input_ms = 0;   // the half that the previous stage waits for; where the halves
  double backward_weight_ms = 0;  // were not measured apart, the first holds the whole backward
  double update_ms = 0;           // once per mini-batch
  double cut_forward_ms = 0, cut_backward_ms = 0;  // that a cut after it adds
  std::int64_t sent_bytes = 0;   // over a cut after it; as many come back as gradients
  std::int64_t saved_bytes = 0;  // kept from its forward to its backward
  std::int64_t parameter_bytes = 0;

  double backward_ms() const { return backward_input_ms + backward_weight_ms; }
  double compute_ms() const { return forward_ms + backward_ms(); }
};

struct LayerChain {
  std::vector<ChainLayer> layers;
  int microbatch_samples = 1;  // in a micro-batch that the numbers are of
};

}  // namespace pipetrain
