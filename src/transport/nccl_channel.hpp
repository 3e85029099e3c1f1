// Channels between GPUs of different processes. Each process holds one end, with its own packets;
// what one end sends is copied into a packet of the other.
//
//   sending process                                          receiving process
//   compute   write ─> (written) ─┐                          compute  (arrived) ─> read ─> (read)
//   transfer                      └> send ─> (sent) free     transfer  receive ─┘     next receive
//
// There is one communicator of two ranks, and one stream, for each boundary, lane and kind. NCCL
// carries the messages of a communicator in the order in which they were issued, and a send ends
// only once its receive has begun (rendezvous). With activations and gradients of a pair of ranks
// in one communicator, both ranks could be in a send whose receive the other will only issue after
// its own send. That happens in 259 of 303 programs (all schedules, 2 to 4 workers, 1 to 8
// micro-batches), in 1F1B from two of each on: see tests/transport/nccl_programs_test.cpp. Grouping
// such calls would tie the order of the two kinds together at both ends, for every schedule. Kept
// apart, each channel is the first-in-first-out queue that program/check.hpp proves free of
// deadlock, with the packets at the two ends as its capacity, and no order between channels
// matters.
//
// Costs and requirements:
//   memory     on the device, for each communicator: some MiB, mostly NCCL's connection buffers
//              (fewer thread blocks need fewer buffers; NCCL_BUFFSIZE makes them smaller)
//   blocks     a send or receive that waits for the other end keeps up to `ctas_max` busy. A worker
//              of an ordinary pipeline has at most four channels, a worker with v stages 4 v
//   queues     streams must not share a hardware queue, or one that waits holds up another:
//              CUDA_DEVICE_MAX_CONNECTIONS (8 unless set, at most 32) must be at least the
//              process's number of streams, and be set before CUDA starts
//   no stops   nothing may wait for the whole device while a transfer is in flight. Memory is taken
//              (cudaMalloc, cudaFree, cudaHostAlloc) before the first packet and released after the
//              last channel; kernels are loaded early (CUDA_MODULE_LOADING=EAGER before CUDA
//              starts), or each has run before
//
// Work on a compute stream never waits for NCCL: the host hands out a packet for reading once it
// has arrived, and for writing once it has been sent. So a peer that is gone does not break compute
// streams, and every wait can be cancelled. send() never waits; acquire() and receive() wait only
// while there is no packet for them. A transfer begins with send() at one end and with expect() or
// receive() at the other.
//
// All processes must make their ends in the same order: by boundary, then lane, activations before
// gradients. Making an end waits for the other one, and connects both before the first packet
// (otherwise NCCL's first send would wait for that). The streams' device must be current in the
// calling thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/stream.hpp"
#include "transport/channel.hpp"
#include "transport/id_exchange.hpp"
#include "transport/nccl_calls.hpp"
#include "transport/nccl_message.hpp"

namespace pipetrain {

struct NcclChannelOptions {
  ChannelOptions packets;        // of this end: nccl_packet_memory() each, on the streams' device
  std::size_t packet_bytes = 0;  // of a packet's tensors
  NcclCalls* calls = nullptr;
  IdExchange* ids = nullptr;
  Stream* compute = nullptr;        // writes or reads packets
  Stream* transfer = nullptr;       // used by this end only
  void* transfer_handle = nullptr;  // the device's own handle of `transfer`
  int boundary = 0, lane = 0;
  bool gradients = false;          // otherwise activations
  bool evaluates = false;          // otherwise for training
  int from_rank = 0, to_rank = 1;  // their numbers in the run
  double seconds_max = 300;        // for each wait, before it is given up
  int ctas_max = 4;
  std::function<bool()> given_up = [] { return false; };  // NcclMeeting::given_up
};

class NcclChannel : public Channel {
 public:
  // Announces one more receive(), so that its transfer may begin. An unannounced one begins when
  // receive() is called, or when can_receive() asks for it. For instructions that are sure to run.
  virtual void expect() {}
};

// DeviceError: the other end does not come, or its packets differ.
std::unique_ptr<NcclChannel> make_nccl_sender(const NcclChannelOptions& options);
std::unique_ptr<NcclChannel> make_nccl_receiver(const NcclChannelOptions& options);

}  // namespace pipetrain
