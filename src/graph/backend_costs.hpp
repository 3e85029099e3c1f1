// What a backend says of the work that a graph's layers are to it, on the machine at hand: a value,
// so that code that weighs layers against each other needs to know neither backends nor kinds.
#pragma once

#include <vector>

namespace pipetrain {

struct BackendCosts {
  // Shares of what a layer's FLOPs and its sizes would suggest, over forward and backward.
  struct LayerShares {
    double computed = 1;  // below 1: a way with fewer products, or another layer does some of it
    double moved = 1;     // below 1: it leaves memory alone, or another layer passes over it anyway
    bool operator==(const LayerShares&) const = default;
  };
  std::vector<LayerShares> layers;  // in the graph's order

  // Round figures of what a stage runs on, to weigh arithmetic against memory by.
  double compute_gflop_s = 0;
  double memory_gb_s = 0;
  double crossing_gb_s = 0;  // of values that another stage has written
};

}  // namespace pipetrain
