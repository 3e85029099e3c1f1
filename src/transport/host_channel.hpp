// Channels between two ranks of one host, through memory that both see (shared_packets.hpp):
//
//   sending rank    acquire ─> write ─> send: copied to a shared packet, then gone
//   receiving rank  receive: the shared packet itself ─> reads ─> release: free again
//
// A packet wakes the thread that waits for it and no other; over MPI two threads that poll take
// part. acquire() also waits for a free shared packet, so that send() never has to. There are as
// many as packets at the sending end: a sender is ahead by no more than within a process.
//
// Threading: as for any channel. A head that does not match is thrown by receive() (DeviceError).
#pragma once

#include <memory>

#include "transport/remote_channel.hpp"
#include "transport/shared_packets.hpp"

namespace pipetrain {

SharedPacketSizes shared_sizes(const RemoteEndOptions& options);
std::unique_ptr<Channel> make_host_sending_end(const RemoteEndOptions& options,
                                               SharedPackets shared);
std::unique_ptr<Channel> make_host_receiving_end(const RemoteEndOptions& options,
                                                 SharedPackets shared);

}  // namespace pipetrain
