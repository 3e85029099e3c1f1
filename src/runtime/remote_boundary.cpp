#include "runtime/remote_boundary.hpp"

#include <memory>

#include "base/check.hpp"
#include "compile/pipeline_sizes.hpp"
#include "runtime/device_ranks.hpp"
#include "transport/job.hpp"
#include "transport/rank_channel.hpp"

namespace pipetrain {
namespace {

enum class Carried { Activations, Gradients };

// Tags up to 15 are the job's own.
int tag_of(const BoundaryInput& in, const LaneName& name, Mode mode, Carried what) {
  int channels = 0;
  for (std::size_t b = 0; b < name.boundary; ++b) channels += in.needs.stages[b].lanes;
  channels += name.lane;
  return 16 + tags_per_rank_channel * (3 * channels + (mode == Mode::Evaluate       ? 2
                                                       : what == Carried::Gradients ? 1
                                                                                    : 0));
}

struct Ends {
  Stage *sender = nullptr, *receiver = nullptr;  // null: on another rank
  int sender_rank = 0, receiver_rank = 0;
};

std::unique_ptr<Channel> make_device_end(const BoundaryInput& in, const LaneName& name,
                                         const Ends& ends, const PacketsOf& packets, Carried what) {
  Stage& mine = ends.sender ? *ends.sender : *ends.receiver;
  PacketsOf messages = packets;
  messages.bytes = nccl_packet_memory(packets.bytes, packets.samples);
  return in.devices->make_end(
      mine,
      {.boundary = static_cast<int>(name.boundary),
       .lane = name.lane,
       .gradients = what == Carried::Gradients,
       .evaluates = packets.mode == Mode::Evaluate,
       .from_rank = ends.sender_rank,
       .to_rank = ends.receiver_rank,
       .packet_bytes = packets.bytes},
      {.packets = take_packets(mine, messages), .samples = packets.samples});
}

std::unique_ptr<Channel> make_end(const BoundaryInput& in, const LaneName& name, const Ends& ends,
                                  const PacketsOf& packets, Carried what) {
  Stage* const mine = ends.sender ? ends.sender : ends.receiver;
  if (!mine) return nullptr;
  if (in.devices) return make_device_end(in, name, ends, packets, what);
  RemoteEndOptions options;
  if (ends.sender)
    options.packets.packets = take_packets(*mine, packets);
  else
    options.packets.packets.resize(static_cast<std::size_t>(packets.count));
  options.packets.samples = packets.samples;
  options.packets.spin = in.spin;
  options.packet_bytes = packets.bytes;
  options.wire_thread = &in.job->wire_thread();
  options.peer = ends.sender ? ends.receiver_rank : ends.sender_rank;
  options.tag = tag_of(in, name, packets.mode, what);
  options.link = in.link;
  options.link_clock = in.link_clock;
  return ends.sender ? make_rank_sending_end(options) : make_rank_receiving_end(options);
}

}  // namespace

std::vector<std::byte*> take_packets(Stage& owner, const PacketsOf& packets) {
  std::vector<std::byte*> memory;
  for (int i = 0; i < packets.count; ++i)
    memory.push_back(owner.take_packet(packets.mode, packets.bytes));
  return memory;
}

Lane make_remote_lane(const BoundaryInput& in, const LaneName& name, const PacketsOf& activations,
                      const PacketsOf& gradients) {
  PIPETRAIN_CHECK(in.job, "a stage is on another rank, and there is no job");
  const Program& program = in.needs.program.program;
  const auto rank_of = [&](std::size_t stage) {
    const StageId s{static_cast<int>(stage)};
    return in.ranks.of(program.worker_of_copy(s, name.lane % program.copies_of(s)),
                       static_cast<int>(program.workers.size()));
  };
  const auto stage_of = [&](std::size_t stage) -> Stage* {
    const StageCopies& copies = *in.stages[stage];
    const int copy = name.lane % copies.count();
    return copies.has(copy) ? &copies.copy(copy) : nullptr;
  };
  const std::size_t s = name.boundary;
  const Ends down{stage_of(s), stage_of(s + 1), rank_of(s), rank_of(s + 1)},
      up{down.receiver, down.sender, down.receiver_rank, down.sender_rank};
  Lane lane;
  lane.activations = make_end(in, name, down, activations, Carried::Activations);
  if (activations.mode == Mode::Train)
    lane.gradients = make_end(in, name, up, gradients, Carried::Gradients);
  return lane;
}

}  // namespace pipetrain
