// What a stage keeps for its parameters: every version of the weights with its packed copies, the
// layers' buffers, gradients and the optimizer's moments.
#pragma once

#include "backend/backend.hpp"
#include "compile/memory_account.hpp"
#include "config/config.hpp"

namespace pipetrain {

struct Graph;

struct ParameterMemoryInput {
  const Graph& graph;
  const Lowering& lowering;
  const OptimizerConfig& optimizer;
  LayerId first, last;  // inclusive
  int weight_copies = 1;
  bool mixes = false;         // one more copy, for weights that no update made
  bool keeps_delta = false;   // PipeMare's delta, the size of the weights
  int statistics_logged = 0;  // micro-batches whose running statistics are noted
};

// Bytes by use, before any are taken.
MemoryAccount parameter_memory(const ParameterMemoryInput& input);

}  // namespace pipetrain
