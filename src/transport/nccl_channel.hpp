// Channels between GPUs of different processes. Each process holds one end, with packets of its
// own; what one end sends is copied into a packet of the other.
//
//   sending process                                          receiving process
//   compute   write ─> (written) ─┐                          compute  (arrived) ─> read ─> (read)
//   transfer                      └> send ─> (sent) free     transfer  receive ─┘     next receive
//
// One communicator of two ranks, and one stream, for each boundary, lane and kind. NCCL carries the
// messages of a communicator in the order in which they were issued, and a send ends only when its
// receive has begun (rendezvous). With activations and gradients of a pair of ranks in one
// communicator, both ranks could be in a send whose receive the other has yet to issue after
// its own: so do 259 of 303 programs (all schedules, 2 to 4 workers, 1 to 8 micro-batches), 1F1B
// from two of each on; tests/transport/nccl_programs_test.cpp. Putting such calls in groups would
// bind the order of the two kinds together at both ends, for every schedule. Apart, each channel is
// the first-in-first-out queue that program/check.hpp proves free of deadlock, with the packets at
// the two ends as its capacity, and no order between channels matters.
//
// Costs and requirements:
//   memory     of the device for each communicator: some MiB, mostly NCCL's buffers of connections
//              (fewer thread blocks, fewer buffers; NCCL_BUFFSIZE makes them smaller)
//   blocks     a send or receive that waits for the other end keeps up to `ctas_max` busy. A worker
//              of an ordinary pipeline has at most four channels, one with v stages 4 v
//   queues     streams must not share a hardware queue, or one that waits holds up another:
//              CUDA_DEVICE_MAX_CONNECTIONS (8 unless set, at most 32) must be as large as the
//              number of a process's streams before CUDA begins
//   no stops   nothing may wait for the whole device while a transfer is in flight. Memory is taken
//              (cudaMalloc, cudaFree, cudaHostAlloc) before the first packet and given back after
//              the last channel; kernels are loaded at once (CUDA_MODULE_LOADING=EAGER before CUDA
//              begins) or have each run before
//
// No work of a compute stream ever waits for NCCL: the host lets a packet in once it has arrived,
// and takes one for writing once it has been sent. So a peer that is gone does not break compute
// streams, and every wait can be cancelled. send() does not wait; acquire() and receive() only
// while there is nothing for them. A transfer begins with send() at one end and with expect() or
// receive() at the other.
//
// Processes make their ends in one order: by boundary, then lane, activations before gradients.
// Making an end waits for the other one, and has both connected before the first packet (NCCL's
// first send would wait for that). The calling thread's device must be that of the streams.
#pragma once

#include <memory>
#include <string>

#include "backend/stream.hpp"
#include "transport/channel.hpp"
#include "transport/id_exchange.hpp"
#include "transport/nccl_calls.hpp"

namespace pipetrain {

struct NcclChannelOptions {
  ChannelOptions packets;        // of this end: nccl_packet_memory() each, of the streams' device
  std::size_t packet_bytes = 0;  // of a packet's tensors
  NcclCalls* calls = nullptr;
  IdExchange* ids = nullptr;
  Stream* compute = nullptr;        // that writes or reads packets
  Stream* transfer = nullptr;       // this end's alone
  void* transfer_handle = nullptr;  // the device's own, of `transfer`
  int boundary = 0, lane = 0;
  bool gradients = false;          // else: activations
  int from_rank = 0, to_rank = 1;  // in the run
  double seconds_max = 300;        // before a wait is given up
  int ctas_max = 4;
};

class NcclChannel : public Channel {
 public:
  // One receive() more will follow: its transfer may begin. Receives that nobody announced begin
  // when they are called, or when can_receive() asks. For instructions that are sure to be run.
  virtual void expect() {}
};

std::size_t nccl_packet_memory(std::size_t packet_bytes, int samples);

// DeviceError: the other end does not come or means other packets.
std::unique_ptr<NcclChannel> make_nccl_sender(const NcclChannelOptions& options);
std::unique_ptr<NcclChannel> make_nccl_receiver(const NcclChannelOptions& options);

}  // namespace pipetrain
