// What a pipeline will take, added up from the same recipes without taking any of it.
#include <algorithm>

#include "runtime/parameter_memory.hpp"
#include "runtime/pipeline_sizes.hpp"

namespace pipetrain {

namespace {

// The packets that lie in a stage's memory: those that it sends, and twins of those that it
// receives from another device.
struct PacketPrediction {
  const PipelineInput& in;
  const PipelineNeeds& needs;
  const LoweredModel& model;
  const std::vector<MicrobatchSize>& sizes;
  bool first_copies;

  std::size_t to_stage_behind(std::size_t s) const {
    if (s + 1 == needs.stages.size()) return 0;
    return of_boundary(s, true);
  }
  std::size_t from_stage_before(std::size_t s) const {
    return s > 0 ? of_boundary(s - 1, false) : 0;
  }

 private:
  // Of the stage before the boundary, or of the one behind it.
  std::size_t of_boundary(std::size_t boundary, bool before) const {
    const StageNeeds& need = needs.stages[boundary];
    const LayerId next = in.plan.stages[boundary + 1].first;
    std::size_t total = 0;
    for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
      if (most_samples(sizes, mode) == 0) continue;
      const PacketSizes bytes = packet_sizes(model, next, sizes, mode);
      const bool train = mode == Mode::Train;
      const std::size_t activations =
          static_cast<std::size_t>(train ? need.packets.activations : evaluation_packets) *
          packet_bytes(bytes.activations, 1);
      const std::size_t gradients =
          train ? static_cast<std::size_t>(need.packets.gradients) *
                      packet_bytes(bytes.gradients, need.gradients_in_a_packet)
                : 0;
      const std::size_t sent = before ? activations : gradients,
                        received = before ? gradients : activations;
      for (int lane = 0; lane < (train ? need.lanes : 1); ++lane)
        if (!first_copies || lane % needs.stages[before ? boundary : boundary + 1].copies == 0)
          total += sent + (between_devices(boundary, lane) ? received : 0);
    }
    return total;
  }

  bool between_devices(std::size_t boundary, int lane) const {
    return device(boundary, lane) != device(boundary + 1, lane);
  }
  int device(std::size_t stage, int lane) const {
    const Program& program = needs.program.program;
    const WorkerId worker = program.worker_of({static_cast<int>(stage)}, {lane});
    return in.backend.device_of(
        {.worker = worker.value, .workers = static_cast<int>(program.workers.size())});
  }
};

std::vector<MemoryAccount> predict(const PipelineInput& in, bool first_copies) {
  const int stages = static_cast<int>(in.plan.stages.size());
  const auto sizes = microbatch_sizes(in.sizes, in.config.pipeline.microbatches);
  const PipelineNeeds needs = needs_of(in);
  const LoweredModel model = lower_for(in, sizes);
  std::vector<MemoryAccount> accounts(static_cast<std::size_t>(stages));
  for (std::size_t s = 0; s < accounts.size(); ++s) {
    const StagePlan& stage = in.plan.stages[s];
    MemoryAccount& account = accounts[s];
    const StageNeeds& need = needs.stages[s];
    account = parameter_memory({.graph = in.graph,
                                .lowering = model.lowering(),
                                .optimizer = in.config.optimizer,
                                .first = stage.first,
                                .last = stage.last,
                                .weight_copies = need.weight_copies,
                                .mixes = need.mixes_weights,
                                .keeps_delta = need.delta.keeps});
    const auto copies = first_copies ? 1 : static_cast<std::size_t>(need.copies);
    for (std::size_t& bytes : account.bytes) bytes *= copies;
    StageSizes trains, most;  // evaluation is the first copy's
    for (const MicrobatchSize& size : sizes) {
      const StageSizes each = sizes_of(compile_stage({.graph = model.graph(size.lengths),
                                                      .lowering = model.lowering(size.lengths),
                                                      .first = stage.first,
                                                      .last = stage.last,
                                                      .size = size,
                                                      .split_backward = needs.split_backward,
                                                      .recomputes = need.input_slots > 0}));
      most = largest(most, each);
      if (size.mode == Mode::Train) trains = largest(trains, each);
    }
    for (std::size_t copy = 0; copy < copies; ++copy) {
      const StageSizes& its = copy == 0 ? most : trains;
      account[Use::Activations] += static_cast<std::size_t>(need.slots) * its.slot +
                                   static_cast<std::size_t>(need.input_slots) * its.input_slot;
      account[Use::Workspace] += its.workspace + its.scratch;
    }
    const PacketPrediction packets{in, needs, model, sizes, first_copies};
    account[Use::Packets] += packets.to_stage_behind(s) + packets.from_stage_before(s);
  }
  return accounts;
}

}  // namespace

std::vector<MemoryAccount> predict_memory(const PipelineInput& in) { return predict(in, false); }
std::vector<MemoryAccount> predict_first_copies(const PipelineInput& in) {
  return predict(in, true);
}

}  // namespace pipetrain
