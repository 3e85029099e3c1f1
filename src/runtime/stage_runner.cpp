#include "runtime/stage_runner.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace pipetrain {
namespace {

std::byte* data_of(const Packet* packet) { return packet ? packet->data : nullptr; }

std::size_t index_of(int value, std::size_t size) { return static_cast<std::size_t>(value) % size; }

// Inputs came through the pipeline, labels from the loader: they must be of the same samples.
void check_samples(const Packet& packet, const MiniBatch& batch, const SamplePart& part) {
  PIPETRAIN_CHECK(
      static_cast<int>(packet.ids.size()) == part.count &&
          std::equal(packet.ids.begin(), packet.ids.end(), batch.ids.begin() + part.first),
      "outputs and labels are of different samples");
}

int copy_on(const Program& program, WorkerId worker, StageId stage) {
  if (program.placement.empty()) return 0;
  const auto& copies = program.placement[static_cast<std::size_t>(stage.value)];
  return static_cast<int>(std::ranges::find(copies, worker) - copies.begin());
}

int share_of(const Program& program, StageId stage, int copy) {
  const int copies = program.copies_of(stage);
  return (program.microbatches - copy + copies - 1) / copies;
}

// Where that sample's part of a mini-batch's values begins.
template <class Values>
auto from_sample(const Values& values, const MiniBatch& batch, int sample) {
  return values.data() + static_cast<std::size_t>(sample) * (values.size() / batch.ids.size());
}

Targets targets(const MiniBatch& batch, const SamplePart& part) {
  if (!batch.classes.empty()) return {.classes = from_sample(batch.classes, batch, part.first)};
  return {.values = from_sample(batch.values, batch, part.first)};
}

const void* inputs(const MiniBatch& batch, const SamplePart& part) {
  if (!batch.tokens.empty()) return from_sample(batch.tokens, batch, part.first);
  return from_sample(batch.inputs, batch, part.first);
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
      copies_(*run.stages[static_cast<std::size_t>(stage.value)]),
      copy_(copy_on(run.program, worker, stage)),
      stage_(copies_.copy(copy_)),
      tied_(run.tied.concerns(stage)),
      share_(share_of(run.program, stage, copy_)),
      trace_(run.trace ? &run.trace->track(stage, copy_) : nullptr),
      flights_(static_cast<std::size_t>(run.program.total_microbatches())),
      unread_(static_cast<std::size_t>(run.program.minibatches), share_),
      tied_terms_(static_cast<std::size_t>(run.tied.count())),
      clock_(stage_.stream()),
      reports_(stage_.stream(), stage_.parameters(), static_cast<int>(unread_.size()),
               [this](const StepReport& report) { publish(report); }) {
  for (int slot = stage_.slots() - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  for (int slot = stage_.input_slots() - 1; slot >= 0; --slot) free_input_slots_.push_back(slot);
  for (int s = 0; s < stage.value; ++s)
    first_parameter_ += run.stages[static_cast<std::size_t>(s)]->first().parameters();
}

// Where a micro-batch's gradient lies in a packet that may hold those of its whole mini-batch.
std::byte* StageRunner::gradient_of(const Packet* packet, std::size_t bytes, MicrobatchId m) const {
  if (!packet) return nullptr;
  return packet->data + bytes * static_cast<std::size_t>(m.value - first_of_packet(m).value);
}

void StageRunner::begin_program(std::int64_t base_step) {
  base_step_ = base_step;
  stage_.begin_program();
}

SamplePart StageRunner::part(const Instruction& i, const MiniBatch& batch) const {
  const int parts = run_.program.microbatches;
  return sample_part(batch.samples, parts, i.microbatch.value % parts);
}

PassCall StageRunner::call(const Instruction& i) const {
  const Flight& f = flight(i.microbatch);
  const int in_minibatch = i.microbatch.value % run_.program.microbatches;
  return {.size = {f.samples, run_.mode, f.lengths},
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

// ---- what a micro-batch holds

int StageRunner::take(std::vector<int>& free_slots) {
  PIPETRAIN_CHECK(!free_slots.empty(), "no free activation slot");
  const int slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

void StageRunner::open(const Instruction& i, int samples, const Lengths& lengths) {
  Flight& f = flight(i);
  PIPETRAIN_CHECK(!f.open, "more micro-batches are in flight than the program has");
  f = {};
  f.open = true;
  f.samples = samples;
  f.lengths = lengths;
  if (recomputes())
    f.input_slot = take(free_input_slots_);
  else
    f.slot = take(free_slots_);
}

void StageRunner::close(const Instruction& i) {
  Flight& f = flight(i);
  if (f.in) before(i).activations->release(f.in);
  if (f.out && trains()) behind(i).activations->forget(f.out);
  const bool whole = !gradients_together() || run_.program.ends_minibatch(i.microbatch);
  if (f.gradient_in && whole) behind(i).gradients->release(f.gradient_in);
  free_slots_.push_back(f.slot);
  if (f.input_slot >= 0) free_input_slots_.push_back(f.input_slot);
  f.open = false;
  if (is_first()) done_with_minibatch(i);
}

const MiniBatch& StageRunner::minibatch(const Instruction& i) {
  return *waiting([&] { return &run_.loader.get(step_of(i)); });
}

void StageRunner::done_with_minibatch(const Instruction& i) {
  int& left = unread_[index_of(run_.program.minibatch_of(i.microbatch).value, unread_.size())];
  if (--left > 0) return;
  left = share_;
  run_.loader.release(step_of(i));
}

Packet* StageRunner::acquire_out(const Instruction& i) {
  Flight& f = flight(i);
  Channel& channel = *behind(i).activations;
  f.out = waiting([&] { return channel.acquire(); });
  f.out->samples = f.samples;
  f.out->lengths = f.lengths;
  f.out->microbatch = i.microbatch;
  if (trains() && !recomputes()) channel.retain(f.out);  // its own backward reads it too
  return f.out;
}

// ---- instructions

void StageRunner::load_input(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  const SamplePart p = part(i, batch);
  open(i, p.count, batch.lengths);
  flight(i).input = inputs(batch, p);
  if (p.count > 0) busy([&] { stage_.load_input(call(i)); });
  if (is_last()) return;
  const auto first = batch.ids.begin() + p.first;
  acquire_out(i)->ids.assign(first, first + p.count);
}

void StageRunner::receive_activation(const Instruction& i) {
  Packet* const packet = waiting([&] { return before(i).activations->receive(); });
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch, "micro-batch {} arrived instead of {}",
                  packet->microbatch.value, i.microbatch.value);
  open(i, packet->samples, packet->lengths);
  flight(i).in = packet;
}

void StageRunner::forward(const Instruction& i) {
  Flight& f = flight(i);
  if (!is_first() && !is_last()) acquire_out(i)->ids.assign(f.in->ids.begin(), f.in->ids.end());
  f.forward_version = i.weights.version.value;
  if (recomputes()) f.slot = take(free_slots_);
  if (f.samples > 0) busy([&] { stage_.forward(call(i)); });
  if (is_last()) loss(i);
  if (recomputes()) free_slots_.push_back(std::exchange(f.slot, -1));
  if (is_last() && !trains()) close(i);
}

void StageRunner::recompute(const Instruction& i) {
  Flight& f = flight(i);
  f.slot = take(free_slots_);
  if (f.samples > 0) busy([&] { stage_.recompute(call(i)); });
}

void StageRunner::loss(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  const SamplePart p = part(i, batch);
  const Flight& f = flight(i);
  if (f.in) check_samples(*f.in, batch, p);
  StepReport& report = reports_.of(trains() ? step_of(i) : 0);  // of an evaluation there is one
  if (f.samples > 0) busy([&] { stage_.loss(call(i), targets(batch, p), report.loss); });
  report.measured.samples += f.samples;
  report.measured.labels += count_labels(batch, p.first, p.count);
  if (!trains() && !is_first()) done_with_minibatch(i);
}

void StageRunner::send_activation(const Instruction& i) {
  behind(i).activations->send(flight(i).out);
  if (recomputes()) flight(i).out = nullptr;
  if (!trains()) close(i);
}

void StageRunner::receive_gradient(const Instruction& i) {
  Packet* const packet = waiting([&] { return behind(i).gradients->receive(); });
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch,
                  "the gradient of micro-batch {} arrived instead of {}", packet->microbatch.value,
                  i.microbatch.value);
  for (MicrobatchId m = first_of_packet(i.microbatch); m <= i.microbatch; ++m.value)
    flight(m).gradient_in = packet;
}

void StageRunner::acquire_gradient(const Instruction& i) {
  Flight& f = flight(i);
  const MicrobatchId first = first_of_packet(i.microbatch);
  if (i.microbatch != first) {
    f.gradient_out = flight(first).gradient_out;
    return;
  }
  Channel& channel = *before(i).gradients;
  f.gradient_out = waiting([&] { return channel.acquire(); });
  f.gradient_out->samples = f.samples;
  f.gradient_out->microbatch =
      gradients_together()
          ? run_.program.last_microbatch_of(run_.program.minibatch_of(i.microbatch))
          : i.microbatch;
}

void StageRunner::backward(const Instruction& i) {
  Flight& f = flight(i);
  if (gives_input_gradient(i.op)) {
    if (!is_first()) acquire_gradient(i);
    staleness_sum_ += static_cast<double>(stage_.weights().live().value - f.forward_version);
    if (is_last()) loss_gradient(i);
  }
  const UpdateCall fused = fuses_update(i.op) ? fused_update(i) : UpdateCall{};
  if (f.samples > 0)
    busy([&] { stage_.backward(call(i), part_of(i.op), fuses_update(i.op) ? &fused : nullptr); });
  if (gives_weight_gradient(i.op)) close(i);
  if (fuses_update(i.op)) update(i);
}

void StageRunner::loss_gradient(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  if (flight(i).samples > 0)
    busy([&] {
      stage_.loss_gradient(call(i), targets(batch, part(i, batch)),
                           1.0 / static_cast<double>(batch.labels));
    });
  if (!is_first()) done_with_minibatch(i);
}

void StageRunner::send_gradient(const Instruction& i) {
  before(i).gradients->send(flight(i).gradient_out);
  for (MicrobatchId m = first_of_packet(i.microbatch); m <= i.microbatch; ++m.value)
    flight(m).gradient_out = nullptr;
}

void StageRunner::finish() {
  reports_.finish(clock_);
  if (trains() || !is_last()) return;
  stage_.stream().finish();
  const StepReport& seen = reports_.of(0);
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
      return sync_gradients(i);
    case Op::Update:
      return update(i);
    case Op::Recompute:
      return recompute(i);
  }
}

bool StageRunner::blocked(const Instruction& i) const {
  if (fuses_update(i.op) && !run_.board->can_deposit(step_of(i))) return true;
  switch (i.op) {
    case Op::LoadInput:
      return !is_last() && !behind(i).activations->can_acquire();
    case Op::Forward:
      return !is_first() && !is_last() && !behind(i).activations->can_acquire();
    case Op::ReceiveActivation:
      return !before(i).activations->can_receive();
    case Op::ReceiveGradient:
      return !behind(i).gradients->can_receive();
    case Op::Backward:
    case Op::BackwardInput:
    case Op::BackwardHead:
    case Op::BackwardUpdate:
      return !is_first() && i.microbatch == first_of_packet(i.microbatch) &&
             !before(i).gradients->can_acquire();
    case Op::SyncGradients:
      return run_.joint_norm && !run_.board->can_deposit(step_of(i));
    case Op::Update:
      if (tied_ && !run_.tied.summed(step_of(i))) return true;
      return run_.joint_norm ? !run_.board->has_total(step_of(i))
                             : !run_.board->can_deposit(step_of(i));
    default:
      return false;
  }
}

}  // namespace pipetrain
