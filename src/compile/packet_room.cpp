#include "compile/packet_room.hpp"

#include "base/cache_line.hpp"
#include "transport/nccl_message.hpp"

namespace pipetrain {
namespace {

struct Packing {
  const PacketRoomInput& in;
  Mode mode;

  bool trains() const { return mode == Mode::Train; }

  // Adds what is at the boundary after stage s, for a copy of stage s (`before`) or of stage s + 1.
  void add(std::size_t s, bool before, int copy, PacketBytes& bytes) const {
    const StageNeeds& need = in.needs.stages[s];
    const PacketSizes each = packet_sizes(in.model, in.plan.stages[s + 1].first, in.sizes, mode);
    const Packets activations{trains() ? need.packets.activations : evaluation_packets,
                              packet_bytes(each.activations, 1)},
        gradients{trains() ? need.packets.gradients : 0,
                  packet_bytes(each.gradients, need.gradients_in_a_packet)};
    const Packets &sent = before ? activations : gradients,
                  &received = before ? gradients : activations;
    const int copies = in.needs.stages[before ? s : s + 1].copies;
    for (int lane = copy; lane < (trains() ? need.lanes : 1); lane += copies) {
      const WorkerId a = worker(s, lane), b = worker(s + 1, lane);
      const bool remote = in.ranks.of(a, workers()) != in.ranks.of(b, workers());
      if (remote && in.backend.asynchronous()) {  // with room for what else a message has
        bytes.own[mode] += messages(sent) + messages(received);
        continue;
      }
      bytes.own[mode] += sent.all();
      if (remote)
        bytes.received += received.all();
      else if (device(a) != device(b))
        bytes.own[mode] += received.all();
    }
  }

  struct Packets {
    int count = 0;
    std::size_t bytes = 0;  // of each
    std::size_t all() const { return static_cast<std::size_t>(count) * bytes; }
  };
  std::size_t messages(const Packets& packets) const {
    return static_cast<std::size_t>(packets.count) *
           whole_lines(nccl_packet_memory(packets.bytes, most_samples(in.sizes, mode)));
  }

  int device(WorkerId of) const {
    return in.backend.device_of({.worker = of.value, .workers = workers()});
  }
  WorkerId worker(std::size_t stage, int lane) const {
    const Program& program = in.needs.program.program;
    const StageId s{static_cast<int>(stage)};
    return program.worker_of_copy(s, lane % program.copies_of(s));
  }
  int workers() const { return static_cast<int>(in.needs.program.program.workers.size()); }
};

}  // namespace

PacketBytes packet_room(const PacketRoomInput& in, StageId stage, int copy) {
  PacketBytes bytes;
  const auto s = static_cast<std::size_t>(stage.value);
  for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
    if (most_samples(in.sizes, mode) == 0) continue;
    const Packing room{in, mode};
    if (s + 1 < in.needs.stages.size()) room.add(s, true, copy, bytes);
    if (s > 0) room.add(s - 1, false, copy, bytes);
  }
  return bytes;
}

}  // namespace pipetrain
