#include "compile/packet_room.hpp"

namespace pipetrain {
namespace {

struct Packing {
  const PacketRoomInput& in;
  Mode mode;

  bool trains() const { return mode == Mode::Train; }

  // Bytes at the boundary after stage s, for a copy of stage s (`before`) or of stage s + 1.
  std::size_t at(std::size_t s, bool before, int copy) const {
    const StageNeeds& need = in.needs.stages[s];
    const PacketSizes bytes = packet_sizes(in.model, in.plan.stages[s + 1].first, in.sizes, mode);
    const auto all = [](int count, std::size_t each) {
      return static_cast<std::size_t>(count) * each;
    };
    const std::size_t activations = all(trains() ? need.packets.activations : evaluation_packets,
                                        packet_bytes(bytes.activations, 1)),
                      gradients =
                          trains() ? all(need.packets.gradients,
                                         packet_bytes(bytes.gradients, need.gradients_in_a_packet))
                                   : 0;
    const std::size_t sent = before ? activations : gradients,
                      received = before ? gradients : activations;
    const int copies = in.needs.stages[before ? s : s + 1].copies;
    std::size_t total = 0;
    for (int lane = copy; lane < (trains() ? need.lanes : 1); lane += copies)
      total += sent + (apart(s, lane) ? received : 0);
    return total;
  }

  // Are the two ends on different devices or ranks?
  bool apart(std::size_t s, int lane) const {
    const WorkerId a = worker(s, lane), b = worker(s + 1, lane);
    const auto device = [&](WorkerId of) {
      return in.backend.device_of({.worker = of.value, .workers = workers()});
    };
    return in.ranks.of(a, workers()) != in.ranks.of(b, workers()) || device(a) != device(b);
  }
  WorkerId worker(std::size_t stage, int lane) const {
    const Program& program = in.needs.program.program;
    const StageId s{static_cast<int>(stage)};
    return program.worker_of_copy(s, lane % program.copies_of(s));
  }
  int workers() const { return static_cast<int>(in.needs.program.program.workers.size()); }
};

}  // namespace

ByMode<std::size_t> packet_room(const PacketRoomInput& in, StageId stage, int copy) {
  ByMode<std::size_t> bytes = {};
  const auto s = static_cast<std::size_t>(stage.value);
  for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
    if (most_samples(in.sizes, mode) == 0) continue;
    const Packing room{in, mode};
    std::size_t& its = bytes[mode];
    if (s + 1 < in.needs.stages.size()) its += room.at(s, true, copy);
    if (s > 0) its += room.at(s - 1, false, copy);
  }
  return bytes;
}

}  // namespace pipetrain
