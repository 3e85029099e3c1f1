#include "runtime/stage_runner.hpp"

#include "base/check.hpp"
#include "program/recompute_segments.hpp"
#include "runtime/microbatch_data.hpp"
#include "runtime/other_turns.hpp"

namespace pipetrain {
namespace {

std::byte* data_of(const Packet* packet) { return packet ? packet->data : nullptr; }

std::size_t index_of(int value, std::size_t size) { return static_cast<std::size_t>(value) % size; }

// How many micro-batches the copy runs of a mini-batch that it takes part in.
int share_of(const Program& program, StageId stage, int copy) {
  return program.whole_minibatches ? program.microbatches : program.share_of(stage, copy, {0});
}

BackwardPart part_of(Op op) {
  switch (without_update(op)) {
    case Op::BackwardInput:
      return BackwardPart::InputHalf;
    case Op::BackwardWeight:
      return BackwardPart::WeightHalf;
    case Op::BackwardHead:
      return BackwardPart::Head;
    case Op::BackwardTail:
      return BackwardPart::Tail;
    default:
      return BackwardPart::Whole;
  }
}

}  // namespace

StageRunner::StageRunner(const Run& run, WorkerId worker, StageId stage)
    : run_(run),
      id_(stage),
      copy_(run.program().copy_on(worker, stage)),
      share_(share_of(run.program(), stage, copy_)),
      receives_again_(receives_again(run.program(), stage)),
      stage_(run.stages[stage.value]->copy(copy_)),
      flights_({.microbatches = run.program().total_microbatches(),
                .slots = stage_.slots(),
                .input_slots = recomputes() ? stage_.input_slots() : 0}),
      unread_(run.program().minibatches, share_),
      times_(stage_.stream(), run.trace ? &run.trace->track(stage, copy_) : nullptr),
      updates_(run, stage, copy_, share_, times_) {}

// Where a micro-batch's gradient is in a packet that may hold those of its whole mini-batch.
std::byte* StageRunner::gradient_of(const Packet* packet, std::size_t bytes, MicrobatchId m) const {
  if (!packet) return nullptr;
  return packet->data + bytes * static_cast<std::size_t>(m.value - first_of_packet(m).value);
}

void StageRunner::begin_program(std::int64_t base_step) {
  base_step_ = base_step;
  stage_.begin_program();
}

UpdateOf StageRunner::update_of(const Instruction& i) const {
  const std::int64_t step = step_of(i);
  if (!run_.program().whole_minibatches) return {step, 1, step};
  const int copies = run_.program().copies_of(id_),
            last = run_.program().minibatch_of(i.microbatch).value, first = last / copies * copies;
  UpdateOf update{step, last - first + 1};
  if (first + copy_ <= last) update.own = base_step_ + first + copy_;
  return update;
}

SamplePart StageRunner::part(const Instruction& i, const MiniBatch& batch) const {
  const int parts = run_.program().microbatches;
  return sample_part(batch.samples, parts, i.microbatch.value % parts);
}

PassCall StageRunner::call(const Instruction& i) const {
  const Flight& f = flights_.of(i.microbatch);
  const int in_minibatch = i.microbatch.value % run_.program().microbatches;
  return {.size = size_of(f),
          .slot = f.slot,
          .input_slot = f.input_slot,
          .input = f.input,
          .packet_in = data_of(f.in),
          .packet_out = data_of(f.out),
          .gradient_in = is_last() ? nullptr
                                   : gradient_of(f.gradient_in, boundary_behind().gradient_bytes,
                                                 i.microbatch),
          .gradient_out = is_first() ? nullptr
                                     : gradient_of(f.gradient_out, boundary_before().gradient_bytes,
                                                   i.microbatch),
          .weights = i.weights,
          .random = {.seed = run_.seed,
                     .step = static_cast<std::uint64_t>(step_of(i)),
                     .microbatch = static_cast<std::uint64_t>(in_minibatch)}};
}

// Gives back everything that the micro-batch holds here.
void StageRunner::close(const Instruction& i) {
  const Flight& f = flight(i);
  if (f.in) before(i).activations->release(f.in);
  if (f.out && trains()) behind(i).activations->forget(f.out);
  const bool whole = !gradients_together() || run_.program().ends_minibatch(i.microbatch);
  if (f.gradient_in && whole) behind(i).gradients->release(f.gradient_in);
  flights_.close(i.microbatch);
  if (is_first()) done_with_minibatch(i);
}

const MiniBatch& StageRunner::minibatch(const Instruction& i) {
  if (run_.other_turns) run_.other_turns->skip_before(id_, step_of(i));
  return *times_.waiting([&] { return &run_.loader->get(step_of(i)); });
}

void StageRunner::done_with_minibatch(const Instruction& i) {
  int& left = unread_[index_of(run_.program().minibatch_of(i.microbatch).value, unread_.size())];
  if (--left > 0) return;
  left = share_;
  run_.loader->release(step_of(i));
}

// One for the micro-batch's activations, without the names of its samples.
Packet* StageRunner::acquire_packet(const Instruction& i) {
  const Flight& f = flight(i);
  Packet* const packet = times_.waiting([&] { return behind(i).activations->acquire(); });
  packet->bytes = stage_.sent(size_of(f)).activations;
  packet->samples = f.samples;
  packet->lengths = f.lengths;
  packet->microbatch = i.microbatch;
  return packet;
}

Packet* StageRunner::acquire_out(const Instruction& i) {
  Flight& f = flight(i);
  f.out = acquire_packet(i);
  // Its own backward reads it too.
  if (trains() && !recomputes()) behind(i).activations->retain(f.out);
  return f.out;
}

// ---- instructions

void StageRunner::load_input(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  const SamplePart p = part(i, batch);
  flights_.open(i.microbatch, p.count, batch.lengths).input = inputs_of(batch, p);
  if (p.count > 0) times_.busy([&] { stage_.load_input(call(i)); });
  if (is_last()) return;
  const auto ids = ids_of(batch, p);
  acquire_out(i)->ids.assign(ids.begin(), ids.end());
}

Packet* StageRunner::receive_packet(const Instruction& i) {
  Packet* const packet = times_.waiting([&] { return before(i).activations->receive(); });
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch, "micro-batch {} arrived instead of {}",
                  packet->microbatch.value, i.microbatch.value);
  count_message(i, before(i), *packet, &StageVolumes::activations);
  return packet;
}

void StageRunner::receive_activation(const Instruction& i) {
  Packet* const packet = receive_packet(i);
  flights_.open(i.microbatch, packet->samples, packet->lengths).in = packet;
}

void StageRunner::receive_recomputed(const Instruction& i) { flight(i).in = receive_packet(i); }

// A mini-batch's messages arrive before its update, wherever in a program that is, so the receiver
// counts them.
void StageRunner::count_message(const Instruction& i, const Lane& lane, const Packet& packet,
                                Volume StageVolumes::*kind) {
  trace_message(lane, packet);
  if (!trains() || !lane.between_workers) return;
  const auto bytes = static_cast<std::int64_t>(packet.bytes);
  StageVolumes& volumes = updates_.report(step_of(i)).measured.communication;
  (volumes.*kind).add({.bytes = bytes, .messages = 1});
  if (run_.link) volumes.link_seconds += run_.link->seconds(static_cast<double>(bytes));
}

void StageRunner::trace_message(const Lane& lane, const Packet& packet) {
  if (trace() && lane.between_workers) trace()->carried(static_cast<std::int64_t>(packet.bytes));
}

void StageRunner::forward(const Instruction& i) {
  Flight& f = flight(i);
  if (!is_first() && !is_last()) acquire_out(i)->ids.assign(f.in->ids.begin(), f.in->ids.end());
  f.forward_version = i.weights.version.value;
  if (recomputes()) flights_.take_slot(i.microbatch);
  if (f.samples > 0) times_.busy([&] { stage_.forward(call(i)); });
  if (is_last()) loss(i);
  if (recomputes()) flights_.give_slot(i.microbatch);
  if (is_last() && !trains()) close(i);
  if (trains() && receives_again_) {
    before(i).activations->release(f.in);
    f.in = nullptr;
  }
}

void StageRunner::recompute(const Instruction& i) {
  flights_.take_slot(i.microbatch);
  if (flight(i).samples > 0) times_.busy([&] { stage_.recompute(call(i)); });
}

void StageRunner::send_recomputed(const Instruction& i) {
  const Flight& f = flight(i);
  Packet* const packet = acquire_packet(i);
  if (is_first()) {
    const MiniBatch& batch = minibatch(i);
    const auto ids = ids_of(batch, part(i, batch));
    packet->ids.assign(ids.begin(), ids.end());
  } else {
    packet->ids.assign(f.in->ids.begin(), f.in->ids.end());
  }
  if (f.samples > 0) times_.busy([&] { stage_.copy_recomputed(call(i), packet->data); });
  trace_message(behind(i), *packet);
  behind(i).activations->send(packet);
}

void StageRunner::loss(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  const SamplePart p = part(i, batch);
  const Flight& f = flight(i);
  if (f.in) check_samples(*f.in, batch, p);
  StepReport& report = updates_.report(trains() ? step_of(i) : 0);  // an evaluation has one
  if (f.samples > 0) times_.busy([&] { stage_.loss(call(i), targets_of(batch, p), report.loss); });
  report.measured.samples += f.samples;
  report.measured.labels += count_labels(batch, p.first, p.count);
  if (!trains() && !is_first()) done_with_minibatch(i);
}

void StageRunner::send_activation(const Instruction& i) {
  trace_message(behind(i), *flight(i).out);
  behind(i).activations->send(flight(i).out);
  if (recomputes()) flight(i).out = nullptr;
  if (!trains()) close(i);
}

void StageRunner::receive_gradient(const Instruction& i) {
  Packet* const packet = times_.waiting([&] { return behind(i).gradients->receive(); });
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch,
                  "the gradient of micro-batch {} arrived instead of {}", packet->microbatch.value,
                  i.microbatch.value);
  for (MicrobatchId m = first_of_packet(i.microbatch); m <= i.microbatch; ++m.value)
    flights_.of(m).gradient_in = packet;
  count_message(i, behind(i), *packet, &StageVolumes::gradients);
}

void StageRunner::acquire_gradient(const Instruction& i) {
  Flight& f = flight(i);
  const MicrobatchId first = first_of_packet(i.microbatch);
  if (i.microbatch != first) {
    f.gradient_out = flights_.of(first).gradient_out;
    extend_gradients(i);
    return;
  }
  Channel& channel = *before(i).gradients;
  f.gradient_out = times_.waiting([&] { return channel.acquire(); });
  f.gradient_out->samples = f.samples;
  f.gradient_out->microbatch =
      gradients_together()
          ? run_.program().last_microbatch_of(run_.program().minibatch_of(i.microbatch))
          : i.microbatch;
  f.gradient_out->bytes = 0;
  extend_gradients(i);
}

// Extends the packet to the end of this micro-batch's gradients.
void StageRunner::extend_gradients(const Instruction& i) {
  const Flight& f = flight(i);
  const auto at = gradient_of(f.gradient_out, boundary_before().gradient_bytes, i.microbatch) -
                  f.gradient_out->data;
  if (const std::size_t bytes = stage_.sent(size_of(f)).gradients)
    f.gradient_out->bytes = static_cast<std::size_t>(at) + bytes;
}

void StageRunner::backward(const Instruction& i) {
  Flight& f = flight(i);
  if (gives_input_gradient(i.op)) {
    if (!is_first()) acquire_gradient(i);
    updates_.add_staleness(stage_.weights().live().value - f.forward_version);
    if (is_last()) loss_gradient(i);
  }
  const UpdateCall fused = fuses_update(i.op) ? updates_.fused(step_of(i)) : UpdateCall{};
  if (f.samples > 0)
    times_.busy(
        [&] { stage_.backward(call(i), part_of(i.op), fuses_update(i.op) ? &fused : nullptr); });
  if (gives_weight_gradient(i.op)) close(i);
  if (fuses_update(i.op)) updates_.update(update_of(i));
}

void StageRunner::loss_gradient(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  if (flight(i).samples > 0)
    times_.busy([&] {
      stage_.loss_gradient(call(i), targets_of(batch, part(i, batch)),
                           1.0 / static_cast<double>(batch.labels));
    });
  if (!is_first()) done_with_minibatch(i);
}

void StageRunner::send_gradient(const Instruction& i) {
  trace_message(before(i), *flight(i).gradient_out);
  before(i).gradients->send(flight(i).gradient_out);
  for (MicrobatchId m = first_of_packet(i.microbatch); m <= i.microbatch; ++m.value)
    flights_.of(m).gradient_out = nullptr;
}

void StageRunner::finish() {
  updates_.finish();
  if (trains() || !is_last()) return;
  stage_.stream().finish();
  const StepReport& seen = updates_.report(0);
  run_.sum->loss += seen.loss->sum;
  run_.sum->correct += seen.loss->correct;
  run_.sum->correct_top5 += seen.loss->correct_top5;
  run_.sum->labels += seen.measured.labels;
  run_.sum->samples += seen.measured.samples;
}

void StageRunner::execute(const Instruction& i) {
  switch (i.op) {
    case Op::LoadInput:
      return load_input(i);
    case Op::Forward:
      return forward(i);
    case Op::Backward:
    case Op::BackwardInput:
    case Op::BackwardWeight:
    case Op::BackwardHead:
    case Op::BackwardTail:
    case Op::BackwardUpdate:
    case Op::BackwardTailUpdate:
    case Op::BackwardWeightUpdate:
      return backward(i);
    case Op::SendActivation:
      return send_activation(i);
    case Op::ReceiveActivation:
      return receive_activation(i);
    case Op::SendGradient:
      return send_gradient(i);
    case Op::ReceiveGradient:
      return receive_gradient(i);
    case Op::SyncGradients:
      return updates_.sync(update_of(i));
    case Op::Update:
      return updates_.update(update_of(i));
    case Op::Recompute:
      return recompute(i);
    case Op::SendRecomputed:
      return send_recomputed(i);
    case Op::ReceiveRecomputed:
      return receive_recomputed(i);
  }
}

bool StageRunner::blocked(const Instruction& i) const {
  if (trains() && updates_.blocked(i.op, update_of(i))) return true;
  switch (i.op) {
    case Op::LoadInput:
      return !is_last() && !behind(i).activations->can_acquire();
    case Op::Forward:
      return !is_first() && !is_last() && !behind(i).activations->can_acquire();
    case Op::ReceiveActivation:
    case Op::ReceiveRecomputed:
      return !before(i).activations->can_receive();
    case Op::SendRecomputed:
      return !behind(i).activations->can_acquire();
    case Op::ReceiveGradient:
      return !behind(i).gradients->can_receive();
    case Op::Backward:
    case Op::BackwardInput:
    case Op::BackwardHead:
    case Op::BackwardUpdate:
      return !is_first() && i.microbatch == first_of_packet(i.microbatch) &&
             !before(i).gradients->can_acquire();
    default:
      return false;
  }
}

}  // namespace pipetrain
