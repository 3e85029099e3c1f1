// A program's transfers through real channels over a fake device and a fake NCCL: what the executor
// does with packets (runtime/stage_runner.cpp), without layers. Each forward and backward is work
// on its worker's stream that checks what it reads and writes what it should.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fake_nccl.hpp"
#include "program/channel.hpp"
#include "program/program.hpp"
#include "transport/nccl_channel.hpp"

namespace fake {

struct RunOptions {
  unsigned seed = 1;
  bool one_communicator_per_pair = false;
  bool sends_block = false;  // the host waits until a send has ended
  bool announces = false;    // receives, up to two instructions ahead
  double seconds_max = 20;
};

class ProgramRun {
 public:
  ProgramRun(const pipetrain::Program& program, const RunOptions& options);
  ~ProgramRun();

  // One thread walks through all lists as far as they go. Returns "", or where each worker is that
  // cannot continue.
  std::string walk();
  // A thread for each worker. Returns "", or the message of the first that failed.
  std::string race();

  int wrong() const { return wrong_; }  // reads of what was not yet, or no longer, written

 private:
  using Instruction = pipetrain::Instruction;
  struct End {
    std::unique_ptr<FakeStream> transfer;
    std::vector<std::vector<std::byte>> memory;
    std::unique_ptr<pipetrain::Channel> channel;
  };
  struct Flight {
    pipetrain::Packet *in = nullptr, *out = nullptr, *gradient_in = nullptr,
                      *gradient_out = nullptr;
  };
  struct Worker {
    std::unique_ptr<FakeStream> compute;
    std::map<std::pair<int, int>, Flight> flights;  // by stage and micro-batch
    std::size_t at = 0, announced = 0;
    FakeStream* sending = nullptr;
  };

  void make_channels();
  void make_channel(const pipetrain::ChannelId& id);
  End make_end(const pipetrain::ChannelId& id, bool sends);
  pipetrain::Channel& channel(const Instruction& i, pipetrain::Op op);
  End& end(const Instruction& i, pipetrain::Op op);

  bool blocked(int worker);
  void execute(int worker);
  void announce(int worker);
  void forward(Worker& w, const Instruction& i);
  void backward(Worker& w, const Instruction& i);
  void close(Worker& w, const Instruction& i);
  void send(Worker& w, const Instruction& i);
  void acquire_out(Worker& w, const Instruction& i);
  pipetrain::Packet* receive(const Instruction& i);
  void expect_stamp(FakeStream& stream, const pipetrain::Packet* packet, std::size_t place,
                    std::int64_t stamp);
  void stamp(FakeStream& stream, pipetrain::Packet* packet, std::size_t place, std::int64_t stamp);
  void close_all();

  bool is_first(const Instruction& i) const { return i.stage.value == 0; }
  bool is_last(const Instruction& i) const { return i.stage.value + 1 == program_.stages; }
  int first_of_packet(int m) const;
  std::size_t place_of(const Instruction& i) const;
  Flight& flight(Worker& w, const Instruction& i) {
    return w.flights[{i.stage.value, i.microbatch.value}];
  }
  const Instruction* next(int worker) const;

  const pipetrain::Program program_;
  const RunOptions options_;
  Device device_;
  Nccl nccl_;
  MemoryExchange ids_;
  std::vector<Worker> workers_;
  std::map<std::pair<pipetrain::ChannelId, bool>, End> ends_;  // true: the sending one
  std::map<int, std::atomic<int>> syncs_missing_;              // by mini-batch
  std::atomic<int> wrong_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace fake
