// Stages called by hand, in an order that the test picks: no workers, no channels, no program.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "stage/stage.hpp"

namespace pipetrain::testing {

// How the backward of the micro-batches of one mini-batch is run.
enum class Backward {
  Fused,     // both halves in one call
  Sent,      // what completes the gradient that leaves the stage, then the rest
  Halves,    // the input half, then the weight half
  Deferred,  // the input halves of all micro-batches, on all stages, then all weight halves
};

struct ChainInput {
  const Graph& graph;
  std::string backend = "reference";
  std::vector<int> firsts = {0};  // the first layer of each stage
  int microbatches = 3;
  int samples = 2;  // of a micro-batch
  int steps = 2;
  Backward backward = Backward::Fused;
};

struct ChainResult {
  std::vector<double> losses, sums_of_squares;  // of every step
  std::vector<float> parameters;                // in the end
};

ChainResult run_chain(const ChainInput& input);

}  // namespace pipetrain::testing
