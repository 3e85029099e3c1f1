// What a pipeline is made from.
#pragma once

#include <cstdint>

#include "backend/backend.hpp"
#include "base/ranks.hpp"
#include "compile/microbatch_size.hpp"
#include "config/config.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"

namespace pipetrain {

struct Graph;

struct PipelineInput {
  const Graph& graph;
  const Plan& plan;
  const Config& config;
  Backend& backend;
  std::int64_t total_steps = 1;  // of the whole training: no segment is longer
  MinibatchSizes sizes = {};
  std::int64_t steps_per_epoch = 1;
  // Replaces what the config's schedule or order makes, for tests of programs that no config can
  // ask for. Runs again and again, drained in between.
  const Program* program = nullptr;
  Ranks ranks = {};  // the processes that share the workers
};

}  // namespace pipetrain
