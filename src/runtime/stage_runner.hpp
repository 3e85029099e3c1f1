// What each instruction of a program does on one stage: joins the stage's computation with its
// channels, the loader and the step board, and measures where the time goes.
//
// Which micro-batch lies in which activation slot, and which packets it holds, is kept here from
// its forward to its backward. Threading: of one worker.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "runtime/run.hpp"
#include "runtime/step_reports.hpp"
#include "runtime/stream_clock.hpp"

namespace pipetrain {

class StageRunner {
 public:
  StageRunner(const Run& run, WorkerId worker, StageId stage);

  StageId stage() const { return id_; }
  TraceTrack* trace() const { return trace_; }  // null: nothing is traced
  // A repetition of the program begins, `base_step` mini-batches after training did; weight
  // versions count from here.
  void begin_program(std::int64_t base_step);
  bool blocked(const Instruction& i) const;  // would execute() wait for another worker?
  void execute(const Instruction& i);
  // No program follows: waits until all that was asked of the stage's stream is done and reported.
  void finish();

 private:
  struct Flight {  // a micro-batch between its forward and its backward
    int slot = -1, input_slot = -1, samples = 0;
    const void* input = nullptr;  // first stage: in the loader's memory
    Lengths lengths;
    bool open = false;
    int forward_version = 0;
    Packet *in = nullptr, *out = nullptr, *gradient_in = nullptr, *gradient_out = nullptr;
  };

  bool is_first() const { return id_.value == 0; }
  bool is_last() const { return id_.value + 1 == run_.program.stages; }
  // Are activations thrown away behind the forward, and made again for the backward?
  bool recomputes() const { return trains() && stage_.recomputes(); }
  bool trains() const { return run_.mode == Mode::Train; }
  Boundary& boundary_before() const {
    return run_.boundaries[static_cast<std::size_t>(id_.value - 1)];
  }
  Boundary& boundary_behind() const { return run_.boundaries[static_cast<std::size_t>(id_.value)]; }
  Lane& before(const Instruction& i) const { return boundary_before().lane(i.microbatch); }
  Lane& behind(const Instruction& i) const { return boundary_behind().lane(i.microbatch); }
  Flight& flight(MicrobatchId m) {
    return flights_[static_cast<std::size_t>(m.value) % flights_.size()];
  }
  const Flight& flight(MicrobatchId m) const {
    return flights_[static_cast<std::size_t>(m.value) % flights_.size()];
  }
  Flight& flight(const Instruction& i) { return flight(i.microbatch); }
  bool gradients_together() const { return run_.program.gradients_together; }
  // The first of the micro-batches whose gradients come in one packet with this one's.
  MicrobatchId first_of_packet(MicrobatchId m) const {
    if (!gradients_together()) return m;
    return {run_.program.minibatch_of(m).value * run_.program.microbatches};
  }
  std::int64_t step_of(const Instruction& i) const {
    return base_step_ + run_.program.minibatch_of(i.microbatch).value;
  }
  SamplePart part(const Instruction& i, const MiniBatch& batch) const;
  PassCall call(const Instruction& i) const;

  template <class Wait>
  auto waiting(const Wait& wait);
  template <class Work>
  void busy(const Work& work);

  std::byte* gradient_of(const Packet* packet, std::size_t bytes, MicrobatchId m) const;

  static int take(std::vector<int>& free_slots);
  void open(const Instruction& i, int samples, const Lengths& lengths);
  void close(const Instruction& i);
  const MiniBatch& minibatch(const Instruction& i);
  void done_with_minibatch(const Instruction& i);
  Packet* acquire_out(const Instruction& i);

  void load_input(const Instruction& i);
  void receive_activation(const Instruction& i);
  void forward(const Instruction& i);
  void loss(const Instruction& i);
  void send_activation(const Instruction& i);
  void recompute(const Instruction& i);
  void receive_gradient(const Instruction& i);
  void backward(const Instruction& i);
  void acquire_gradient(const Instruction& i);
  void loss_gradient(const Instruction& i);
  void send_gradient(const Instruction& i);
  void sync_gradients(const Instruction& i);
  void deposit(const Instruction& i);
  void publish(const StepReport& report) const;
  UpdateCall fused_update(const Instruction& i);
  void update(const Instruction& i);
  void set_terms(std::int64_t step);
  void clip(UpdateTerms& terms, double norm);
  void clip_by_own_norms(std::span<double> sums);
  void clip_by_joint_norm(double norm);

  const Run& run_;
  const StageId id_;
  StageCopies& copies_;
  const int copy_;  // which of them this is
  Stage& stage_;
  const bool tied_;  // shares a parameter
  const int share_;  // of a mini-batch's micro-batches, that run here
  TraceTrack* trace_ = nullptr;
  int first_parameter_ = 0;  // of the whole model's
  std::int64_t base_step_ = 0;
  // Rings by micro-batch and by mini-batch: as many as the program has are more than are in flight.
  std::vector<Flight> flights_;
  std::vector<int> unread_;  // micro-batches of a mini-batch that still need the loader's memory
  std::vector<int> free_slots_, free_input_slots_;
  bool synced_ = false;
  UpdateTerms own_terms_;
  std::vector<UpdateTerms> tied_terms_;  // of each tied parameter of the model; reused
  double staleness_sum_ = 0;
  StageStep measured_;
  StreamClock clock_;
  StepReports reports_;
};

template <class Wait>
auto StageRunner::waiting(const Wait& wait) {
  const std::int64_t start = now_ns();
  auto result = wait();
  const std::int64_t end = now_ns();
  // While the host waits, a device may be at work.
  if (!stage_.stream().asynchronous())
    measured_.waiting_seconds += static_cast<double>(end - start) * 1e-9;
  if (trace_) trace_->waited(start, end);
  return result;
}

template <class Work>
void StageRunner::busy(const Work& work) {
  clock_.time(work);
  // Traced instructions are done one by one, so that their slices say how long each takes.
  if (trace_ && trace_->traced() && stage_.stream().asynchronous()) stage_.stream().finish();
}

}  // namespace pipetrain
