#include "transport/nccl_end.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace pipetrain {
namespace {

std::string name_of(const NcclChannelOptions& o) {
  return fmt::format("boundary{}-lane{}-{}{}", o.boundary, o.lane,
                     o.gradients ? "gradients" : "activations", o.evaluates ? "-evaluation" : "");
}

MessageShape shape_of(const NcclChannelOptions& o) {
  return {o.packet_bytes, o.packets.samples, channel_hash(name_of(o))};
}

NcclMeeting meeting_of(const NcclChannelOptions& o, int rank) {
  const bool sends = rank == 0;
  return {.calls = o.calls,
          .ids = o.ids,
          .stream = o.transfer,
          .name = name_of(o),
          .carries = fmt::format("{} of boundary {}, lane {}, that rank {} {} rank {}",
                                 o.gradients ? "gradients" : "activations", o.boundary, o.lane,
                                 sends ? o.from_rank : o.to_rank, sends ? "sends to" : "has from",
                                 sends ? o.to_rank : o.from_rank),
          .rank = rank,
          .ranks = 2,
          .ctas_max = o.ctas_max,
          .seconds_max = o.seconds_max,
          .given_up = o.given_up};
}

}  // namespace

NcclEnd::NcclEnd(const NcclChannelOptions& o, int rank)
    : shape_(shape_of(o)),
      compute_(*o.compute),
      transfer_(*o.transfer),
      handle_(o.transfer_handle),
      communicator_(meeting_of(o, rank)),
      slots_(o.packets.packets.size()) {
  PIPETRAIN_CHECK(!slots_.empty(), "a channel needs packets");
  headers_ =
      static_cast<std::byte*>(transfer_.allocate_results(shape_.header_bytes() * slots_.size()));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.packet.data = o.packets.packets[i];
    slot.packet.ids.reserve(shape_.samples);
    slot.header = headers_ + shape_.header_bytes() * i;
    slot.computed = compute_.make_fence();
    slot.moved = transfer_.make_fence();
  }
}

// After an abort, work under way ends soon. If it does not, its memory is leaked rather than waited
// for.
NcclEnd::~NcclEnd() {
  const auto over = [this] {
    return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.moved->passed(); });
  };
  if (communicator_.ends(over, *slots_.front().moved)) transfer_.release_results(headers_);
}

void NcclEnd::retain(Packet* packet) { ++packet->holders; }

NcclEnd::Slot& NcclEnd::slot_of(const Packet* packet) {
  for (Slot& slot : slots_)
    if (&slot.packet == packet) return slot;
  PIPETRAIN_CHECK(false, "a packet of another channel");
}

void NcclEnd::send_message(Slot& slot, std::size_t bytes) {
  slot.issued_ns = now_ns();
  communicator_.issue([&](NcclCalls& calls, NcclCalls::Communicator communicator) {
    return calls.send(communicator, slot.packet.data, bytes, 1, handle_);
  });
}

void NcclEnd::receive_message(Slot& slot, std::size_t bytes) {
  slot.issued_ns = now_ns();
  communicator_.issue([&](NcclCalls& calls, NcclCalls::Communicator communicator) {
    return calls.receive(communicator, slot.packet.data, bytes, 0, handle_);
  });
}

void NcclEnd::copy_out(Slot& slot, std::size_t at, std::size_t bytes) {
  transfer_.copy(slot.packet.data + at, slot.header, bytes);
}

void NcclEnd::copy_in(Slot& slot, std::size_t at, std::size_t bytes) {
  transfer_.copy(slot.header, slot.packet.data + at, bytes);
}

void NcclEnd::record_moved(Slot& slot) { transfer_.record(*slot.moved); }

}  // namespace pipetrain
