#include "runtime/stage_runner.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace pipetrain {
namespace {

std::byte* data_of(const Packet* packet) { return packet ? packet->data : nullptr; }

// Inputs came through the pipeline, labels from the loader: they must be of the same samples.
void check_samples(const Packet& packet, const MiniBatch& batch, const SamplePart& part) {
  PIPETRAIN_CHECK(
      static_cast<int>(packet.ids.size()) == part.count &&
          std::equal(packet.ids.begin(), packet.ids.end(), batch.ids.begin() + part.first),
      "outputs and labels are of different samples");
}

Targets targets(const MiniBatch& batch, const SamplePart& part) {
  if (!batch.classes.empty()) return {.classes = batch.classes.data() + part.first};
  const std::size_t size = batch.values.size() / batch.ids.size();
  return {.values = batch.values.data() + static_cast<std::size_t>(part.first) * size};
}

}  // namespace

StageRunner::StageRunner(const Run& run, StageId stage)
    : run_(run),
      id_(stage),
      stage_(*run.stages[static_cast<std::size_t>(stage.value)]),
      trace_(run.trace ? &run.trace->track(stage) : nullptr),
      flights_(static_cast<std::size_t>(run.program.total_microbatches())),
      unread_(static_cast<std::size_t>(run.program.minibatches), run.program.microbatches),
      sums_of_squares_(static_cast<std::size_t>(stage_.parameters())) {
  for (int slot = stage_.slots() - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  for (int s = 0; s < stage.value; ++s)
    first_parameter_ += run.stages[static_cast<std::size_t>(s)]->parameters();
  find_updates();
}

void StageRunner::find_updates() {
  update_behind_.assign(flights_.size(), nullptr);
  const Instruction* backward = nullptr;
  for (const auto& worker : run_.program.workers)
    for (const Instruction& i : worker) {
      if (i.stage != id_) continue;
      if (i.op == Op::Backward || i.op == Op::BackwardWeight) {
        backward = &i;
      } else if (i.op == Op::Update) {
        if (backward) update_behind_[static_cast<std::size_t>(backward->microbatch.value)] = &i;
        backward = nullptr;
      } else if (i.op == Op::SendGradient && backward && backward->op == Op::Backward &&
                 backward->microbatch == i.microbatch) {
        continue;  // the backward goes on behind it
      } else if (i.op == Op::Forward || i.op == Op::BackwardInput || i.op == Op::Recompute ||
                 i.op == Op::SyncGradients || i.op == Op::SendGradient) {
        backward = nullptr;
      }
    }
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
  const Flight& f = flights_[static_cast<std::size_t>(i.microbatch.value)];
  const int in_minibatch = i.microbatch.value % run_.program.microbatches;
  return {.mode = run_.mode,
          .samples = f.samples,
          .slot = f.slot,
          .packet_in = data_of(f.in),
          .packet_out = data_of(f.out),
          .gradient_in = data_of(f.gradient_in),
          .gradient_out = data_of(f.gradient_out),
          .weights = i.weights,
          .random = {.seed = run_.seed,
                     .step = static_cast<std::uint64_t>(step_of(i)),
                     .microbatch = static_cast<std::uint64_t>(in_minibatch)}};
}

// ---- time

template <class Wait>
auto StageRunner::waiting(const Wait& wait) {
  const std::int64_t start = now_ns();
  auto result = wait();
  const std::int64_t end = now_ns();
  measured_.waiting_seconds += static_cast<double>(end - start) * 1e-9;
  if (trace_) trace_->waited(start, end);
  return result;
}

template <class Work>
void StageRunner::busy(const Work& work) {
  const std::int64_t start = now_ns();
  work();
  measured_.busy_seconds += static_cast<double>(now_ns() - start) * 1e-9;
}

// ---- what a micro-batch holds

void StageRunner::open(const Instruction& i, int samples) {
  PIPETRAIN_CHECK(!free_slots_.empty(), "no free activation slot");
  Flight& f = flight(i);
  f = {};
  f.slot = free_slots_.back();
  free_slots_.pop_back();
  f.samples = samples;
}

void StageRunner::close(const Instruction& i) {
  Flight& f = flight(i);
  if (f.in) before().activations->release(f.in);
  if (f.out && trains()) behind().activations->release(f.out);
  if (f.gradient_in) behind().gradients->release(f.gradient_in);
  free_slots_.push_back(f.slot);
  f.slot = -1;
}

const MiniBatch& StageRunner::minibatch(const Instruction& i) {
  return *waiting([&] { return &run_.loader.get(step_of(i)); });
}

void StageRunner::done_with_minibatch(const Instruction& i) {
  int& left = unread_[static_cast<std::size_t>(run_.program.minibatch_of(i.microbatch).value)];
  if (--left > 0) return;
  left = run_.program.microbatches;
  run_.loader.release(step_of(i));
}

Packet* StageRunner::acquire_out(const Instruction& i) {
  Flight& f = flight(i);
  Channel& channel = *behind().activations;
  f.out = waiting([&] { return channel.acquire(); });
  f.out->samples = f.samples;
  f.out->microbatch = i.microbatch;
  if (trains()) channel.retain(f.out);  // its own backward reads it too
  return f.out;
}

// ---- instructions

void StageRunner::load_input(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  const SamplePart p = part(i, batch);
  open(i, p.count);
  const std::size_t sample = batch.inputs.size() / batch.ids.size();
  const float* const inputs = batch.inputs.data() + static_cast<std::size_t>(p.first) * sample;
  if (p.count > 0) busy([&] { stage_.load_input(call(i), inputs); });
  if (is_last()) return;  // its loss still needs the mini-batch
  const auto first = batch.ids.begin() + p.first;
  acquire_out(i)->ids.assign(first, first + p.count);
  done_with_minibatch(i);
}

void StageRunner::receive_activation(const Instruction& i) {
  Packet* const packet = waiting([&] { return before().activations->receive(); });
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch, "micro-batch {} arrived instead of {}",
                  packet->microbatch.value, i.microbatch.value);
  open(i, packet->samples);
  flight(i).in = packet;
}

void StageRunner::forward(const Instruction& i) {
  Flight& f = flight(i);
  if (!is_first() && !is_last()) acquire_out(i)->ids.assign(f.in->ids.begin(), f.in->ids.end());
  f.forward_version = i.weights.version.value;
  if (f.samples > 0) busy([&] { stage_.forward(call(i)); });
  if (!is_last()) return;
  loss(i);
  if (!trains()) close(i);
}

void StageRunner::loss(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  const SamplePart p = part(i, batch);
  const Flight& f = flight(i);
  if (f.in) check_samples(*f.in, batch, p);
  LossResult result;
  if (f.samples > 0) busy([&] { result = stage_.loss(call(i), targets(batch, p)); });
  measured_.loss.sum += result.sum;
  measured_.loss.correct += result.correct;
  measured_.samples += f.samples;
  if (trains()) return;
  run_.sum->loss += result.sum;
  run_.sum->correct += result.correct;
  run_.sum->samples += f.samples;
  done_with_minibatch(i);
}

void StageRunner::send_activation(const Instruction& i) {
  behind().activations->send(flight(i).out);
  if (!trains()) close(i);
}

void StageRunner::receive_gradient(const Instruction& i) {
  Packet* const packet = waiting([&] { return behind().gradients->receive(); });
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch,
                  "the gradient of micro-batch {} arrived instead of {}", packet->microbatch.value,
                  i.microbatch.value);
  flight(i).gradient_in = packet;
}

// What the stage before waits for is sent as soon as it is complete: a whole backward goes on
// behind its send.
void StageRunner::backward(const Instruction& i, BackwardPart part) {
  Flight& f = flight(i);
  if (part == BackwardPart::Whole && !is_first()) {
    backward(i, BackwardPart::BeforeSend);
    f.unfinished = &i;
    return;
  }
  const bool begins = part != BackwardPart::WeightHalf && part != BackwardPart::BehindSend,
             ends = part != BackwardPart::InputHalf && part != BackwardPart::BeforeSend;
  if (begins) {
    if (!is_first()) {
      Channel& channel = *before().gradients;
      f.gradient_out = waiting([&] { return channel.acquire(); });
      f.gradient_out->samples = f.samples;
      f.gradient_out->microbatch = i.microbatch;
    }
    staleness_sum_ += static_cast<double>(i.weights.version.value - f.forward_version);
    if (is_last()) loss_gradient(i);
  }
  const Instruction* behind =
      ends ? update_behind_[static_cast<std::size_t>(i.microbatch.value)] : nullptr;
  UpdateCall update{.sums = sums_of_squares_};
  if (behind) {
    update.lr = run_.learning_rate.at(step_of(*behind));
    update.step = step_of(*behind) + 1;
  }
  if (f.samples > 0) busy([&] { stage_.backward(call(i), part, behind ? &update : nullptr); });
  if (ends) close(i);
}

void StageRunner::loss_gradient(const Instruction& i) {
  const MiniBatch& batch = minibatch(i);
  if (flight(i).samples > 0)
    busy([&] {
      stage_.loss_gradient(call(i), targets(batch, part(i, batch)), 1.0 / batch.samples);
    });
  done_with_minibatch(i);
}

void StageRunner::send_gradient(const Instruction& i) {
  Flight& f = flight(i);
  before().gradients->send(f.gradient_out);
  f.gradient_out = nullptr;
  if (!f.unfinished) return;
  if (trace_) trace_->goes_on(*f.unfinished);
  backward(*f.unfinished, BackwardPart::BehindSend);
}

void StageRunner::sync_gradients(const Instruction& i) {
  busy([&] { stage_.sums_of_squares(sums_of_squares_); });
  run_.board->deposit(step_of(i), first_parameter_, sums_of_squares_);
  deposited_ = true;
}

void StageRunner::update(const Instruction& i) {
  const std::int64_t step = step_of(i);
  const double lr = run_.learning_rate.at(step);
  if (deposited_) {
    const double norm = std::sqrt(waiting([&] { return run_.board->total(step); }));
    measured_.skipped = run_.skip_nonfinite && !std::isfinite(norm);
    const double scale = run_.max_norm > 0 ? std::min(1.0, run_.max_norm / (norm + 1e-6)) : 1;
    busy([&] {
      if (measured_.skipped)
        stage_.skip_update();
      else
        stage_.update(lr, scale, step + 1);
    });
  } else {  // the norm is only reported: it is taken on the way
    busy([&] { stage_.update(lr, 1, step + 1, sums_of_squares_); });
    run_.board->deposit(step, first_parameter_, sums_of_squares_);
  }
  deposited_ = false;
  measured_.end_ns = now_ns();
  measured_.weight_versions = stage_.weights().copies();
  measured_.staleness = staleness_sum_ / run_.program.microbatches;
  run_.board->finish(step, id_, lr, measured_);
  measured_ = {};
  staleness_sum_ = 0;
}

void StageRunner::execute(const Instruction& i) {
  switch (i.op) {
    case Op::LoadInput:
      return load_input(i);
    case Op::Forward:
      return forward(i);
    case Op::Backward:
      return backward(i, BackwardPart::Whole);
    case Op::BackwardInput:
      return backward(i, BackwardPart::InputHalf);
    case Op::BackwardWeight:
      return backward(i, BackwardPart::WeightHalf);
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
      break;
  }
  PIPETRAIN_CHECK(false, "the runtime does not run instructions of this kind");
}

bool StageRunner::blocked(const Instruction& i) const {
  switch (i.op) {
    case Op::LoadInput:
      return !is_last() && !behind().activations->can_acquire();
    case Op::Forward:
      return !is_first() && !is_last() && !behind().activations->can_acquire();
    case Op::ReceiveActivation:
      return !before().activations->can_receive();
    case Op::ReceiveGradient:
      return !behind().gradients->can_receive();
    case Op::Backward:
    case Op::BackwardInput:
      return !is_first() && !before().gradients->can_acquire();
    case Op::SyncGradients:
      return !run_.board->can_deposit(step_of(i));
    case Op::Update:
      return deposited_ ? !run_.board->has_total(step_of(i)) : !run_.board->can_deposit(step_of(i));
    default:
      return false;
  }
}

}  // namespace pipetrain
