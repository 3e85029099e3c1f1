// One worker: runs its list of a program from top to bottom, instruction by instruction. It makes
// no decisions; what an instruction does is in runtime/stage_runner.cpp.
//
// Its own thread calls run(); workers that share a thread are stepped while they are not blocked().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/run.hpp"
#include "runtime/stage_runner.hpp"

namespace pipetrain {

class Worker {
 public:
  Worker(const Run& run, WorkerId id);

  bool done();  // nothing is left to run; between programs: asks whether another begins
  // Would the next instruction wait for another worker? A head does if its tail would.
  bool blocked() const;
  // Has it left something in its stage's workspace that one of its next instructions reads? Workers
  // that share a thread share the workspace too, so it continues first.
  bool within_pass() const { return within_pass_; }
  void step();    // runs the next instruction; an error names stage, instruction, micro-batch
  void run();     // all of them, and finish()
  void finish();  // nothing is left to run: waits for the devices, reports what is outstanding

 private:
  std::int64_t base_step() const;  // mini-batches trained before this repetition of the program
  // How many mini-batches later than written the instructions of a folded program run.
  int shift() const { return loop_ && next_ >= loop_->begin ? (rounds_ - 1) * round() : 0; }
  int round() const { return run_->program().minibatches_per_round(); }
  void enter_loop();
  bool blocked(std::size_t at) const;                     // would the instruction there wait?
  std::int64_t minibatch_of(const Instruction& i) const;  // from 0 since training began
  std::size_t runner_of(StageId stage) const;             // index in runners_
  std::string where(const Instruction& i) const;

  const Run* run_;
  const std::vector<Instruction>* list_;
  std::vector<std::unique_ptr<StageRunner>> runners_;  // of the stages in the list
  const Loop* loop_ = nullptr;                         // of a folded program
  std::size_t next_ = 0;
  std::int64_t repeat_ = 0;
  bool begun_ = false;  // this repetition of the program
  bool within_pass_ = false;
  int rounds_ = 0;       // of the loop, begun
  bool looping_ = true;  // the loop has not ended
};

}  // namespace pipetrain
