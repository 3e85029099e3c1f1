#include "runtime/boundary.hpp"

#include <utility>

#include "compile/pipeline_sizes.hpp"
#include "runtime/remote_boundary.hpp"
#include "stage/of_stage.hpp"
#include "transport/device_channel.hpp"

namespace pipetrain {
namespace {

bool between_workers(const Stage& sender, const Stage& receiver) {
  return sender.where().worker != receiver.where().worker;
}

std::unique_ptr<Channel> make_channel(const BoundaryInput& in, Stage& sender, Stage& receiver,
                                      const PacketsOf& packets) {
  auto in_process = in.make_channel(
      {.packets = take_packets(sender, packets), .samples = packets.samples, .spin = in.spin});
  if (in.link && between_workers(sender, receiver))
    in_process = make_link_channel(std::move(in_process),
                                   {.packets = static_cast<std::size_t>(packets.count),
                                    .rate = *in.link,
                                    .clock = in.link_clock});
  if (!sender.stream().asynchronous()) return in_process;
  DeviceChannelOptions options{.packets = static_cast<std::size_t>(packets.count),
                               .bytes = packets.bytes,
                               .samples = packets.samples,
                               .sender = &sender.stream(),
                               .receiver = &receiver.stream()};
  if (sender.stream().device() != receiver.stream().device()) {
    options.transfer = in.backend.make_stream(sender.where());
    options.twins = take_packets(receiver, packets);
  }
  return make_device_channel(std::move(in_process), std::move(options));
}

// The boundary after stage s, for micro-batches of at most this many samples.
Boundary make_boundary(const BoundaryInput& in, std::size_t s, Mode mode, int samples) {
  const LayerId next = in.plan.stages[s + 1].first;
  const PacketSizes bytes = packet_sizes(in.model, next, in.sizes, mode);
  const StageNeeds& need = in.needs.stages[s];
  const bool trains = mode == Mode::Train;
  const PacketsOf activations{packet_bytes(bytes.activations, 1),
                              trains ? need.packets.activations : evaluation_packets, samples,
                              mode},
      gradients{packet_bytes(bytes.gradients, need.gradients_in_a_packet), need.packets.gradients,
                samples, mode};
  Boundary boundary;
  boundary.lanes.resize(trains ? need.lanes : 1);
  boundary.microbatches = in.needs.program.program.microbatches;
  boundary.whole_minibatches = in.needs.program.program.whole_minibatches;
  boundary.gradient_bytes = bytes.gradients;
  for (int l = 0; l < static_cast<int>(boundary.lanes.size()); ++l) {
    const StageCopies &before = *in.stages[s], &behind = *in.stages[s + 1];
    Lane& lane = boundary.lanes[static_cast<std::size_t>(l)];
    if (!before.has(l % before.count()) || !behind.has(l % behind.count())) {
      lane = make_remote_lane(in, {s, l}, activations, gradients);
      continue;
    }
    Stage &sender = before.copy(l % before.count()), &receiver = behind.copy(l % behind.count());
    lane.between_workers = between_workers(sender, receiver);
    lane.activations = make_channel(in, sender, receiver, activations);
    if (trains) lane.gradients = make_channel(in, receiver, sender, gradients);
  }
  return boundary;
}

}  // namespace

std::vector<Boundary> make_boundaries(const BoundaryInput& in, Mode mode) {
  std::vector<Boundary> boundaries;
  const int samples = most_samples(in.sizes, mode);
  if (samples == 0) return boundaries;
  for (std::size_t s = 0; s + 1 < in.stages.size(); ++s)
    boundaries.push_back(
        of_stage(static_cast<int>(s), [&] { return make_boundary(in, s, mode, samples); }));
  return boundaries;
}

namespace {

void for_each_channel(std::span<const Boundary> boundaries, const auto& work) {
  for (const Boundary& boundary : boundaries)
    for (const Lane& lane : boundary.lanes)
      for (Channel* channel : {lane.activations.get(), lane.gradients.get()})
        if (channel) work(*channel);
}

}  // namespace

void settle(std::span<const Boundary> boundaries) {
  for_each_channel(boundaries, [](Channel& channel) { channel.settle(); });
}

void abandon(std::span<const Boundary> boundaries) noexcept {
  for_each_channel(boundaries, [](Channel& channel) { channel.abandon(); });
}

void close(std::span<const Boundary> boundaries) {
  for_each_channel(boundaries, [](Channel& channel) { channel.close(); });
}

}  // namespace pipetrain
