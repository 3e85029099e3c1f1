#include "runtime/worker.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.hpp"
#include "base/error.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A micro-batch between its forward and its backward on one stage.
struct Flight {
  int slot = -1, samples = 0;
  int forward_version = 0;
  Packet *in = nullptr, *out = nullptr, *gradient_in = nullptr, *gradient_out = nullptr;
};

// What a worker keeps of one of its stages.
struct StageState {
  std::vector<Flight> flights;  // by micro-batch of the program
  std::vector<int> free_slots;
  std::vector<int>
      unread;  // by mini-batch: micro-batches that the loader's memory is still needed for
  StageStep measured;
  int first_parameter = 0;
  std::vector<double> sums;
  bool deposited = false;
  double staleness_sum = 0;
};

}  // namespace

struct Worker::Impl {
  Impl(const Run& r, WorkerId id)
      : run(r),
        list(r.program.workers[static_cast<std::size_t>(id.value)]),
        states(r.stages.size()) {
    int first_parameter = 0;
    for (std::size_t s = 0; s < states.size(); ++s) {
      StageState& state = states[s];
      state.flights.resize(
          static_cast<std::size_t>(run.program.microbatches * run.program.minibatches));
      state.unread.assign(static_cast<std::size_t>(run.program.minibatches),
                          run.program.microbatches);
      for (int slot = run.stages[s]->slots() - 1; slot >= 0; --slot)
        state.free_slots.push_back(slot);
      state.first_parameter = first_parameter;
      state.sums.resize(static_cast<std::size_t>(run.stages[s]->parameters()));
      first_parameter += run.stages[s]->parameters();
    }
    for (const Instruction& i : list)
      if (std::find(mine.begin(), mine.end(), i.stage) == mine.end()) mine.push_back(i.stage);
  }

  // ---- where things are
  Stage& stage(StageId id) const { return *run.stages[static_cast<std::size_t>(id.value)]; }
  StageState& state(StageId id) { return states[static_cast<std::size_t>(id.value)]; }
  Flight& flight(const Instruction& i) {
    return state(i.stage).flights[static_cast<std::size_t>(i.microbatch.value)];
  }
  bool is_first(StageId id) const { return id.value == 0; }
  bool is_last(StageId id) const { return id.value + 1 == static_cast<int>(run.stages.size()); }
  Boundary& before(StageId id) const {
    return run.boundaries[static_cast<std::size_t>(id.value - 1)];
  }
  Boundary& behind(StageId id) const { return run.boundaries[static_cast<std::size_t>(id.value)]; }
  bool sends_gradient(StageId id) const { return !is_first(id) && run.mode == Mode::Train; }

  std::int64_t absolute_step(const Instruction& i) const {
    return run.first_step + repeat * run.program.minibatches +
           run.program.minibatch_of(i.microbatch).value;
  }
  int index_in_minibatch(const Instruction& i) const {
    return i.microbatch.value % run.program.microbatches;
  }
  SamplePart part(const Instruction& i, const MiniBatch& batch) const {
    return sample_part(batch.samples, run.program.microbatches, index_in_minibatch(i));
  }
  PassCall call(const Instruction& i, const Flight& f) const {
    const auto data = [](const Packet* p) { return p ? p->data : nullptr; };
    return {.mode = run.mode,
            .samples = f.samples,
            .slot = f.slot,
            .packet_in = data(f.in),
            .packet_out = data(f.out),
            .gradient_in = data(f.gradient_in),
            .gradient_out = data(f.gradient_out),
            .weights = i.weights,
            .random = {.seed = run.seed,
                       .step = static_cast<std::uint64_t>(absolute_step(i)),
                       .microbatch = static_cast<std::uint64_t>(index_in_minibatch(i))}};
  }

  // ---- time
  template <class Wait>
  auto waiting(StageId id, const Wait& wait) {
    const std::int64_t start = now_ns();
    auto result = wait();
    state(id).measured.waiting_seconds += static_cast<double>(now_ns() - start) * 1e-9;
    return result;
  }
  template <class Work>
  void busy(StageId id, const Work& work) {
    const std::int64_t start = now_ns();
    work();
    state(id).measured.busy_seconds += static_cast<double>(now_ns() - start) * 1e-9;
  }

  // ---- instructions
  void open(const Instruction& i, int samples) {
    StageState& s = state(i.stage);
    PIPETRAIN_CHECK(!s.free_slots.empty(), "no free activation slot");
    Flight& f = flight(i);
    f = {};
    f.slot = s.free_slots.back();
    s.free_slots.pop_back();
    f.samples = samples;
  }

  void close(const Instruction& i) {
    Flight& f = flight(i);
    if (f.in) before(i.stage).activations->release(f.in);
    if (f.out && run.mode == Mode::Train) behind(i.stage).activations->release(f.out);
    if (f.gradient_in) behind(i.stage).gradients->release(f.gradient_in);
    state(i.stage).free_slots.push_back(f.slot);
    f.slot = -1;
  }

  const MiniBatch& minibatch(const Instruction& i) {
    return *waiting(i.stage, [&] { return &run.loader.get(absolute_step(i)); });
  }
  void done_with_minibatch(const Instruction& i) {
    int& left = state(i.stage)
                    .unread[static_cast<std::size_t>(run.program.minibatch_of(i.microbatch).value)];
    if (--left > 0) return;
    left = run.program.microbatches;
    run.loader.release(absolute_step(i));
  }

  void load_input(const Instruction& i) {
    const MiniBatch& batch = minibatch(i);
    const SamplePart p = part(i, batch);
    open(i, p.count);
    const std::size_t sample = batch.inputs.size() / batch.ids.size();
    if (p.count > 0)
      busy(i.stage, [&] {
        stage(i.stage).load_input(call(i, flight(i)),
                                  batch.inputs.data() + static_cast<std::size_t>(p.first) * sample);
      });
    if (!is_last(i.stage)) {
      Packet* const out = acquire_out(i);
      out->ids.assign(batch.ids.begin() + p.first, batch.ids.begin() + p.first + p.count);
    }
    if (is_first(i.stage) && !is_last(i.stage)) done_with_minibatch(i);
  }

  Packet* acquire_out(const Instruction& i) {
    Flight& f = flight(i);
    Channel& channel = *behind(i.stage).activations;
    f.out = waiting(i.stage, [&] { return channel.acquire(); });
    f.out->samples = f.samples;
    f.out->microbatch = i.microbatch;
    if (run.mode == Mode::Train) channel.retain(f.out);  // its own backward reads it too
    return f.out;
  }

  void receive_activation(const Instruction& i) {
    Packet* const packet = waiting(i.stage, [&] { return before(i.stage).activations->receive(); });
    PIPETRAIN_CHECK(packet->microbatch == i.microbatch, "micro-batch {} arrived instead of {}",
                    packet->microbatch.value, i.microbatch.value);
    open(i, packet->samples);
    flight(i).in = packet;
  }

  void forward(const Instruction& i) {
    Flight& f = flight(i);
    if (!is_first(i.stage) && !is_last(i.stage)) {
      Packet* const out = acquire_out(i);
      out->ids.assign(f.in->ids.begin(), f.in->ids.end());
    }
    f.forward_version = i.weights.version.value;
    if (f.samples > 0) busy(i.stage, [&] { stage(i.stage).forward(call(i, f)); });
    if (is_last(i.stage)) loss(i, f);
    if (run.mode == Mode::Evaluate && is_last(i.stage)) close(i);
  }

  void loss(const Instruction& i, Flight& f) {
    const MiniBatch& batch = minibatch(i);
    const SamplePart p = part(i, batch);
    if (f.in) check_samples(f, batch, p);
    LossResult result;
    if (f.samples > 0)
      busy(i.stage, [&] { result = stage(i.stage).loss(call(i, f), targets(batch, p)); });
    StageStep& measured = state(i.stage).measured;
    measured.loss.sum += result.sum;
    measured.loss.correct += result.correct;
    measured.samples += f.samples;
    if (run.mode == Mode::Train) return;
    run.sum->loss += result.sum;
    run.sum->correct += result.correct;
    run.sum->samples += f.samples;
    release_targets(i);
  }

  // Inputs came through the pipeline, labels from the loader: they must be of the same samples.
  static void check_samples(const Flight& f, const MiniBatch& batch, const SamplePart& p) {
    PIPETRAIN_CHECK(static_cast<int>(f.in->ids.size()) == p.count &&
                        std::equal(f.in->ids.begin(), f.in->ids.end(), batch.ids.begin() + p.first),
                    "outputs and labels are of different samples");
  }
  static Targets targets(const MiniBatch& batch, const SamplePart& p) {
    if (!batch.classes.empty()) return {.classes = batch.classes.data() + p.first};
    const std::size_t size = batch.values.size() / batch.ids.size();
    return {.values = batch.values.data() + static_cast<std::size_t>(p.first) * size};
  }
  void release_targets(const Instruction& i) { done_with_minibatch(i); }

  void send_activation(const Instruction& i) {
    Flight& f = flight(i);
    behind(i.stage).activations->send(f.out);
    if (run.mode == Mode::Evaluate) close(i);
  }

  void receive_gradient(const Instruction& i) {
    Packet* const packet = waiting(i.stage, [&] { return behind(i.stage).gradients->receive(); });
    PIPETRAIN_CHECK(packet->microbatch == i.microbatch,
                    "the gradient of micro-batch {} arrived instead of {}",
                    packet->microbatch.value, i.microbatch.value);
    flight(i).gradient_in = packet;
  }

  void backward(const Instruction& i, Half half) {
    Flight& f = flight(i);
    if (half != Half::Weight) {
      if (sends_gradient(i.stage)) {
        Channel& channel = *before(i.stage).gradients;
        f.gradient_out = waiting(i.stage, [&] { return channel.acquire(); });
        f.gradient_out->samples = f.samples;
        f.gradient_out->microbatch = i.microbatch;
      }
      state(i.stage).staleness_sum +=
          static_cast<double>(i.weights.version.value - f.forward_version);
      if (is_last(i.stage)) loss_gradient(i, f);
    }
    if (f.samples > 0) busy(i.stage, [&] { stage(i.stage).backward(call(i, f), half); });
    if (half != Half::Input) close(i);
  }

  void loss_gradient(const Instruction& i, Flight& f) {
    const MiniBatch& batch = run.loader.get(absolute_step(i));
    if (f.samples > 0)
      busy(i.stage, [&] {
        stage(i.stage).loss_gradient(call(i, f), targets(batch, part(i, batch)),
                                     1.0 / batch.samples);
      });
    release_targets(i);
  }

  void send_gradient(const Instruction& i) {
    Flight& f = flight(i);
    before(i.stage).gradients->send(f.gradient_out);
    f.gradient_out = nullptr;
  }

  void sync_gradients(const Instruction& i) {
    StageState& s = state(i.stage);
    busy(i.stage, [&] { stage(i.stage).sums_of_squares(s.sums); });
    run.board->deposit(absolute_step(i), s.first_parameter, s.sums);
    s.deposited = true;
  }

  void update(const Instruction& i) {
    StageState& s = state(i.stage);
    const std::int64_t step = absolute_step(i);
    const double lr = run.learning_rate.at(step);
    double scale = 1;
    if (s.deposited) {
      const double norm = std::sqrt(waiting(i.stage, [&] { return run.board->total(step); }));
      s.measured.skipped = run.skip_nonfinite && !std::isfinite(norm);
      if (run.max_norm > 0) scale = std::min(1.0, run.max_norm / (norm + 1e-6));
    } else {
      sync_gradients(i);
    }
    s.deposited = false;
    busy(i.stage, [&] {
      if (s.measured.skipped)
        stage(i.stage).skip_update();
      else
        stage(i.stage).update(lr, scale, step + 1);
    });
    s.measured.end_ns = now_ns();
    s.measured.weight_versions = stage(i.stage).weights().copies();
    s.measured.staleness = s.staleness_sum / run.program.microbatches;
    run.board->finish(step, i.stage, lr, s.measured);
    s.measured = {};
    s.staleness_sum = 0;
  }

  // Versions are counted from here.
  void begin_program() {
    for (const StageId id : mine) stage(id).begin_program();
  }

  void execute(const Instruction& i) {
    switch (i.op) {
      case Op::LoadInput:
        return load_input(i);
      case Op::Forward:
        return forward(i);
      case Op::Backward:
        return backward(i, Half::Both);
      case Op::BackwardInput:
        return backward(i, Half::Input);
      case Op::BackwardWeight:
        return backward(i, Half::Weight);
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
    PIPETRAIN_CHECK(false, "this instruction cannot be run");
  }

  bool blocked() const {
    const Instruction& i = list[next];
    switch (i.op) {
      case Op::LoadInput:
        return !is_last(i.stage) && !behind(i.stage).activations->can_acquire();
      case Op::Forward:
        return !is_first(i.stage) && !is_last(i.stage) &&
               !behind(i.stage).activations->can_acquire();
      case Op::ReceiveActivation:
        return !before(i.stage).activations->can_receive();
      case Op::ReceiveGradient:
        return !behind(i.stage).gradients->can_receive();
      case Op::Backward:
      case Op::BackwardInput:
        return sends_gradient(i.stage) && !before(i.stage).gradients->can_acquire();
      case Op::SyncGradients:
        return !run.board->can_deposit(absolute_step(i));
      case Op::Update:
        if (states[static_cast<std::size_t>(i.stage.value)].deposited)
          return !run.board->has_total(absolute_step(i));
        return !run.board->can_deposit(absolute_step(i));
      default:
        return false;
    }
  }

  const Run& run;
  const std::vector<Instruction>& list;
  std::vector<StageState> states;
  std::vector<StageId> mine;  // the stages in the list
  std::size_t next = 0;
  std::int64_t repeat = 0;
};

Worker::Worker(const Run& run, WorkerId id) : impl_(std::make_unique<Impl>(run, id)) {}
Worker::~Worker() = default;
Worker::Worker(Worker&&) noexcept = default;

bool Worker::done() const { return impl_->list.empty() || impl_->repeat == impl_->run.repeats; }

bool Worker::blocked() const { return impl_->blocked(); }

namespace {

std::string where(const Instruction& i, std::int64_t step, const Program& program) {
  return fmt::format("stage {}, instruction {} (micro-batch {} of mini-batch {})", i.stage.value,
                     to_text(i), i.microbatch.value % program.microbatches, step + 1);
}

}  // namespace

void Worker::step() {
  Impl& w = *impl_;
  const Instruction& i = w.list[w.next];
  try {
    if (w.next == 0) w.begin_program();
    w.execute(i);
  } catch (const ChannelClosed&) {
    throw;
  } catch (const LoaderClosed&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}: {}", where(i, w.absolute_step(i), w.run.program), error.what()));
  } catch (const InternalError& error) {
    throw InternalError(
        fmt::format("{}: {}", where(i, w.absolute_step(i), w.run.program), error.what()));
  } catch (const std::exception& error) {
    throw DeviceError(
        fmt::format("{}: {}", where(i, w.absolute_step(i), w.run.program), error.what()));
  }
  if (++w.next == w.list.size()) {
    w.next = 0;
    ++w.repeat;
  }
}

void Worker::run() {
  while (!done()) step();
}

}  // namespace pipetrain
