// What Pipeline has around its workers, exposed: stages, boundaries, loader and step board of a
// small training whose instructions a test runs one by one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compiled_pipeline.hpp"
#include "data/loader.hpp"
#include "graph/graph.hpp"
#include "runtime/boundary.hpp"
#include "runtime/run.hpp"
#include "runtime/worker.hpp"

namespace pipetrain::testing {

class WorkersRig {
 public:
  explicit WorkersRig(Config config, std::int64_t steps = 1);

  Worker worker(int id) { return {run_, {id}}; }
  // The worker's next instructions, until it is done or blocked. Returns how many there were.
  static int run_until_blocked(Worker& worker);
  Run& run() { return run_; }
  StepBoard& board() { return board_; }
  Stage& stage(int s) { return stages_[s]->first(); }
  Channel& activations(int boundary) { return *boundaries_[boundary].lanes[0].activations; }
  Channel& gradients(int boundary) { return *boundaries_[boundary].lanes[0].gradients; }
  std::vector<Instruction>& list(int worker) { return program_.workers[worker]; }

 private:
  Config config_;
  Graph graph_;
  Plan plan_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<const Dataset> data_;
  CompiledPipeline compiled_;
  Program program_;  // a copy, so that a test can change it
  std::vector<std::unique_ptr<StageCopies>> stages_;
  std::unique_ptr<TiedParameters> tied_;
  std::vector<Boundary> boundaries_;
  Loader loader_;
  StepBoard board_;
  Run run_;
};

}  // namespace pipetrain::testing
