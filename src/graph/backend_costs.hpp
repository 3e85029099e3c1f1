// What a graph's layers cost a backend on this machine: a value,
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

  // Rounded speeds of the machine, to weigh arithmetic against memory.
  double compute_gflop_s = 0;
  double memory_gb_s = 0;
  double crossing_gb_s = 0;  // of values that another stage has written
};

}  // namespace pipetrain
