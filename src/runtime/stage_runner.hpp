// What each instruction of a program does on one stage: connects the stage's computation with its
// channels, the loader and the step board.
//
// Threading: used by one worker.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/flights.hpp"
#include "runtime/run.hpp"
#include "runtime/stage_clock.hpp"
#include "runtime/stage_updates.hpp"

namespace pipetrain {

class StageRunner {
 public:
  StageRunner(const Run& run, WorkerId worker, StageId stage);

  StageId stage() const { return id_; }
  TraceTrack* trace() const { return times_.trace(); }  // null: nothing is traced
  // A repetition of the program begins, `base_step` mini-batches after training began; weight
  // versions count from here.
  void begin_program(std::int64_t base_step);
  bool blocked(const Instruction& i) const;  // would execute() wait for another worker?
  void execute(const Instruction& i);
  // No program follows: waits until everything asked of the stage's stream is done and reported.
  void finish();

 private:
  bool is_first() const { return id_.value == 0; }
  bool is_last() const { return id_.value + 1 == run_.program().stages; }
  bool trains() const { return run_.mode == Mode::Train; }
  // Are activations discarded after the forward and recomputed for the backward?
  bool recomputes() const { return trains() && stage_.recomputes(); }
  Boundary& boundary_before() const { return run_.boundaries[id_.value - 1]; }
  Boundary& boundary_behind() const { return run_.boundaries[id_.value]; }
  Lane& before(const Instruction& i) const { return boundary_before().lane(i.microbatch); }
  Lane& behind(const Instruction& i) const { return boundary_behind().lane(i.microbatch); }
  Flight& flight(const Instruction& i) { return flights_.of(i.microbatch); }
  bool gradients_together() const { return run_.program().gradients_together; }
  // The first of the micro-batches whose gradients come in the same packet as this one's.
  MicrobatchId first_of_packet(MicrobatchId m) const {
    if (!gradients_together()) return m;
    return {run_.program().minibatch_of(m).value * run_.program().microbatches};
  }
  std::int64_t step_of(const Instruction& i) const {
    return base_step_ + run_.program().minibatch_of(i.microbatch).value;
  }
  UpdateOf update_of(const Instruction& i) const;
  MicrobatchSize size_of(const Flight& f) const { return {f.samples, run_.mode, f.lengths}; }
  SamplePart part(const Instruction& i, const MiniBatch& batch) const;
  PassCall call(const Instruction& i) const;
  std::byte* gradient_of(const Packet* packet, std::size_t bytes, MicrobatchId m) const;

  const MiniBatch& minibatch(const Instruction& i);
  void done_with_minibatch(const Instruction& i);
  Packet* receive_packet(const Instruction& i);
  Packet* acquire_packet(const Instruction& i);
  Packet* acquire_out(const Instruction& i);
  void extend_gradients(const Instruction& i);
  void count_message(const Instruction& i, const Lane& lane, const Packet& packet,
                     Volume StageVolumes::*kind);
  void trace_message(const Lane& lane, const Packet& packet);
  void close(const Instruction& i);

  void load_input(const Instruction& i);
  void receive_activation(const Instruction& i);
  void forward(const Instruction& i);
  void loss(const Instruction& i);
  void send_activation(const Instruction& i);
  void recompute(const Instruction& i);
  void send_recomputed(const Instruction& i);
  void receive_recomputed(const Instruction& i);
  void receive_gradient(const Instruction& i);
  void backward(const Instruction& i);
  void acquire_gradient(const Instruction& i);
  void loss_gradient(const Instruction& i);
  void send_gradient(const Instruction& i);

  const Run& run_;
  const StageId id_;
  const int copy_;   // of the stage
  const int share_;  // how many of a mini-batch's micro-batches run here
  // Does the stage keep no input, but receive it again for the recomputation?
  const bool receives_again_;
  Stage& stage_;
  std::int64_t base_step_ = 0;
  Flights flights_;
  // For each mini-batch of the program: micro-batches that still need the loader's memory.
  std::vector<int> unread_;
  StageClock times_;
  StageUpdates updates_;
};

}  // namespace pipetrain
