#include "program_run.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/check.hpp"
#include "compile/segment_program.hpp"
#include "program/text.hpp"

using namespace pipetrain;

namespace fake {
namespace {

constexpr int samples = 2;
constexpr std::int64_t gradient_bit = 1'000'000;

// What a stage writes for a micro-batch.
std::int64_t stamp_of(int stage, MicrobatchId m) { return 1 + stage * 1000 + m.value; }

ChannelId channel_id(const Program& program, Instruction i, Op op) {
  i.op = op;
  return channel_of(program, i);
}

}  // namespace

ProgramRun::ProgramRun(const Program& program, const RunOptions& options)
    : program_(program), options_(options), device_(options.seed), nccl_(device_) {
  nccl_.one_communicator_per_pair = options.one_communicator_per_pair;
  workers_.resize(program.workers.size());
  for (Worker& w : workers_) w.compute = device_.make_stream();
  for (int k = 0; k < program.minibatches; ++k) syncs_missing_[k] = 0;
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      if (i.op == Op::SyncGradients) ++syncs_missing_[program.minibatch_of(i.microbatch).value];
  make_channels();
}

ProgramRun::~ProgramRun() {
  close_all();
  for (auto& [id, end] : ends_) end.channel.reset();
}

void ProgramRun::close_all() {
  for (auto& [id, end] : ends_) end.channel->close();
}

void ProgramRun::make_channels() {
  std::set<ChannelId> all;
  for (const auto& list : program_.workers)
    for (const Instruction& i : list)
      if (is_send(i.op)) all.insert(channel_of(program_, i));
  for (const ChannelId& id : all) make_channel(id);
}

void ProgramRun::make_channel(const ChannelId& id) {
  if (id.from == id.to) {
    End& end = ends_[{id, true}];
    const PacketCounts counts = packet_counts(program_)[static_cast<std::size_t>(id.boundary)];
    end.memory.assign(static_cast<std::size_t>(id.gradient ? counts.gradients : counts.activations),
                      std::vector<std::byte>(1024));
    ChannelOptions options{.packets = {}, .samples = samples};
    for (auto& block : end.memory) options.packets.push_back(block.data());
    end.channel = make_in_process_channel(options);
    return;
  }
  End receiving;
  std::thread other([&] { receiving = make_end(id, false); });
  ends_[{id, true}] = make_end(id, true);
  other.join();
  ends_[{id, false}] = std::move(receiving);
}

ProgramRun::End ProgramRun::make_end(const ChannelId& id, bool sends) {
  const int process = sends ? id.from.value : id.to.value;
  Nccl::play(process);
  const PacketCounts counts = packet_counts(program_)[static_cast<std::size_t>(id.boundary)];
  const std::size_t packet_bytes =
      sizeof(std::int64_t) *
      static_cast<std::size_t>(program_.gradients_together ? program_.microbatches : 1);
  End end{.transfer = device_.make_stream(), .memory = {}, .channel = nullptr};
  end.memory.assign(static_cast<std::size_t>(id.gradient ? counts.gradients : counts.activations),
                    std::vector<std::byte>(nccl_packet_memory(packet_bytes, samples)));
  NcclChannelOptions o{.packets = {.packets = {}, .samples = samples},
                       .packet_bytes = packet_bytes,
                       .calls = &nccl_,
                       .ids = &ids_,
                       .compute = workers_[static_cast<std::size_t>(process)].compute.get(),
                       .transfer = end.transfer.get(),
                       .transfer_handle = end.transfer.get(),
                       .boundary = id.boundary,
                       .lane = id.from.value * 100 + id.to.value,
                       .gradients = id.gradient,
                       .from_rank = id.from.value,
                       .to_rank = id.to.value,
                       .seconds_max = options_.seconds_max};
  for (auto& block : end.memory) o.packets.packets.push_back(block.data());
  if (sends)
    end.channel = make_nccl_sender(o);
  else
    end.channel = make_nccl_receiver(o);
  return end;
}

ProgramRun::End& ProgramRun::end(const Instruction& i, Op op) {
  const ChannelId id = channel_id(program_, i, op);
  return ends_.at({id, is_send(op) || id.from == id.to});
}

Channel& ProgramRun::channel(const Instruction& i, Op op) { return *end(i, op).channel; }

const Instruction* ProgramRun::next(int worker) const {
  const auto w = static_cast<std::size_t>(worker);
  const auto& list = program_.workers[w];
  return workers_[w].at < list.size() ? &list[workers_[w].at] : nullptr;
}

int ProgramRun::first_of_packet(int m) const {
  return program_.gradients_together ? m / program_.microbatches * program_.microbatches : m;
}

std::size_t ProgramRun::place_of(const Instruction& i) const {
  return static_cast<std::size_t>(i.microbatch.value - first_of_packet(i.microbatch.value));
}

void ProgramRun::stamp(FakeStream& stream, Packet* packet, std::size_t place, std::int64_t stamp) {
  stream.run(
      [at = packet->data + place * sizeof stamp, stamp] { std::memcpy(at, &stamp, sizeof stamp); });
}

void ProgramRun::expect_stamp(FakeStream& stream, const Packet* packet, std::size_t place,
                              std::int64_t stamp) {
  stream.run([this, at = packet->data + place * sizeof stamp, stamp] {
    std::int64_t found = 0;
    std::memcpy(&found, at, sizeof found);
    if (found != stamp) ++wrong_;
  });
}

// ---- instructions

bool ProgramRun::blocked(int worker) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  const Instruction& i = *next(worker);
  if (w.sending && !w.sending->idle()) return true;
  w.sending = nullptr;
  switch (i.op) {
    case Op::LoadInput:
      return !is_last(i) && !channel(i, Op::SendActivation).can_acquire();
    case Op::Forward:
      return !is_first(i) && !is_last(i) && !channel(i, Op::SendActivation).can_acquire();
    case Op::Backward:
    case Op::BackwardInput:
    case Op::BackwardHead:
    case Op::BackwardUpdate:
      return !is_first(i) && i.microbatch.value == first_of_packet(i.microbatch.value) &&
             !channel(i, Op::SendGradient).can_acquire();
    case Op::ReceiveActivation:
    case Op::ReceiveGradient:
      return !channel(i, i.op).can_receive();
    case Op::Update:
      return syncs_missing_.at(program_.minibatch_of(i.microbatch).value) > 0;
    default:
      return false;
  }
}

void ProgramRun::execute(int worker) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  const Instruction& i = *next(worker);
  if (is_send(i.op)) send(w, i);
  if (i.op == Op::LoadInput && !is_last(i)) acquire_out(w, i);
  if (i.op == Op::ReceiveActivation) flight(w, i).in = receive(i);
  if (i.op == Op::ReceiveGradient) {
    Packet* const packet = receive(i);
    for (int m = first_of_packet(i.microbatch.value); m <= i.microbatch.value; ++m)
      w.flights[{i.stage.value, m}].gradient_in = packet;
  }
  if (i.op == Op::Forward) forward(w, i);
  if (is_backward(i.op)) backward(w, i);
  if (i.op == Op::SyncGradients) --syncs_missing_.at(program_.minibatch_of(i.microbatch).value);
  ++w.at;
}

// As an executor that knows its list would: what is to be received next begins to move now.
void ProgramRun::announce(int worker) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  const auto& list = program_.workers[static_cast<std::size_t>(worker)];
  const std::size_t ahead = std::min(w.at + 3, list.size());
  for (w.announced = std::max(w.announced, w.at); w.announced < ahead; ++w.announced) {
    const Instruction& i = list[w.announced];
    if (!is_receive(i.op)) continue;
    if (auto* nccl = dynamic_cast<NcclChannel*>(&channel(i, i.op))) nccl->expect();
  }
}

void ProgramRun::acquire_out(Worker& w, const Instruction& i) {
  Packet* const packet = flight(w, i).out = channel(i, Op::SendActivation).acquire();
  packet->samples = samples;
  packet->microbatch = i.microbatch;
  packet->ids = {i.microbatch.value * 10L, i.microbatch.value * 10L + 1};
  channel(i, Op::SendActivation).retain(packet);
}

Packet* ProgramRun::receive(const Instruction& i) {
  Packet* const packet = channel(i, i.op).receive();
  PIPETRAIN_CHECK(packet->microbatch == i.microbatch && packet->samples == samples,
                  "micro-batch {} arrived instead of {}", packet->microbatch.value,
                  i.microbatch.value);
  if (i.op == Op::ReceiveActivation)
    PIPETRAIN_CHECK(packet->ids.at(1) == i.microbatch.value * 10L + 1, "other samples");
  return packet;
}

void ProgramRun::forward(Worker& w, const Instruction& i) {
  if (!is_first(i) && !is_last(i)) acquire_out(w, i);
  Flight& f = flight(w, i);
  if (f.in) expect_stamp(*w.compute, f.in, 0, stamp_of(i.stage.value - 1, i.microbatch));
  if (f.out) stamp(*w.compute, f.out, 0, stamp_of(i.stage.value, i.microbatch));
}

void ProgramRun::backward(Worker& w, const Instruction& i) {
  Flight& f = flight(w, i);
  if (gives_input_gradient(i.op) && !is_first(i)) {
    if (i.microbatch.value == first_of_packet(i.microbatch.value)) {
      f.gradient_out = channel(i, Op::SendGradient).acquire();
      f.gradient_out->samples = samples;
      f.gradient_out->microbatch = {
          program_.gradients_together
              ? program_.last_microbatch_of(program_.minibatch_of(i.microbatch))
              : i.microbatch};
    } else {
      f.gradient_out = w.flights[{i.stage.value, first_of_packet(i.microbatch.value)}].gradient_out;
    }
    stamp(*w.compute, f.gradient_out, place_of(i),
          gradient_bit + stamp_of(i.stage.value, i.microbatch));
  }
  if (f.in) expect_stamp(*w.compute, f.in, 0, stamp_of(i.stage.value - 1, i.microbatch));
  if (f.out) expect_stamp(*w.compute, f.out, 0, stamp_of(i.stage.value, i.microbatch));
  if (!is_last(i))
    expect_stamp(*w.compute, f.gradient_in, place_of(i),
                 gradient_bit + stamp_of(i.stage.value + 1, i.microbatch));
  if (gives_weight_gradient(i.op)) close(w, i);
}

void ProgramRun::close(Worker& w, const Instruction& i) {
  Flight& f = flight(w, i);
  if (f.in) channel(i, Op::ReceiveActivation).release(f.in);
  if (f.out) channel(i, Op::SendActivation).forget(f.out);
  if (f.gradient_in && (!program_.gradients_together || program_.ends_minibatch(i.microbatch)))
    channel(i, Op::ReceiveGradient).release(f.gradient_in);
  f.in = f.out = f.gradient_in = nullptr;
}

void ProgramRun::send(Worker& w, const Instruction& i) {
  Flight& f = flight(w, i);
  End& to = end(i, i.op);
  to.channel->send(i.op == Op::SendActivation ? f.out : f.gradient_out);
  if (options_.sends_block) w.sending = to.transfer.get();
}

// ---- whole programs

std::string ProgramRun::walk() {
  for (int still = 0; still < 4;) {
    bool moved = false, done = true;
    for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
      if (!next(w)) continue;
      done = false;
      if (options_.announces) announce(w);
      if (blocked(w)) continue;
      execute(w);
      moved = true;
    }
    if (done) {
      device_.run_dry();
      return "";
    }
    moved = device_.advance() || moved;
    still = moved ? 0 : still + 1;
  }
  std::string stuck;
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w)
    if (next(w)) stuck += fmt::format("worker {} at {}\n", w, to_text(*next(w)));
  return stuck;
}

std::string ProgramRun::race() {
  std::mutex mutex;
  std::string first;
  const auto run = [&](int w) {
    try {
      while (next(w) && !stopped_) {
        while (next(w)->op == Op::Update && blocked(w) && !stopped_) std::this_thread::yield();
        execute(w);
      }
    } catch (const ChannelClosed&) {
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      if (first.empty()) first = error.what();
      stopped_ = true;
      close_all();
    }
  };
  std::vector<std::thread> threads;
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) threads.emplace_back(run, w);
  for (auto& thread : threads) thread.join();
  if (first.empty()) device_.run_dry();
  return first;
}

}  // namespace fake
