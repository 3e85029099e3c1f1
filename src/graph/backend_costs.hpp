// What a graph's layers cost a backend on this machine: a value, so that code that compares layers
// needs to know neither backends nor kinds.
#pragma once

#include <vector>

namespace pipetrain {

struct BackendCosts {
  // Shares of what a layer's FLOPs and sizes suggest, over forward and backward.
  struct LayerShares {
    double computed = 1;  // below 1: fewer multiplications, or another layer does part of it
    double moved = 1;     // below 1: it leaves memory alone, or another layer passes over it anyway
    bool operator==(const LayerShares&) const = default;
  };
  std::vector<LayerShares> layers;  // in the graph's order

  // Speeds of the machine, rounded, to compare arithmetic with memory traffic.
  double compute_gflop_s = 0;
  double memory_gb_s = 0;
  double crossing_gb_s = 0;  // for values that another stage has written
};

}  // namespace pipetrain
