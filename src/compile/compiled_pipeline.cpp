#include "compile/compiled_pipeline.hpp"

#include <utility>

#include "compile/device_rank_rules.hpp"
#include "compile/packet_room.hpp"
#include "compile/parameter_memory.hpp"
#include "compile/shared_workspaces.hpp"

namespace pipetrain {
namespace {

std::vector<CompiledStage> kernels_of(const CompiledPipeline& p, std::size_t stage) {
  const StagePlan& layers = p.in.plan.stages[stage];
  std::vector<CompiledStage> kernels;
  for (const MicrobatchSize& size : p.sizes)
    kernels.push_back(compile_stage({.graph = p.model.graph(size.lengths),
                                     .lowering = p.model.lowering(size.lengths),
                                     .first = layers.first,
                                     .last = layers.last,
                                     .size = size,
                                     .split_backward = p.needs.split_backward,
                                     .recomputes = p.needs.stages[stage].input_slots > 0,
                                     .recomputed = &p.needs.recomputed}));
  return kernels;
}

MemoryAccount parameters_of(const CompiledPipeline& p, std::size_t stage) {
  const StagePlan& layers = p.in.plan.stages[stage];
  const StageNeeds& need = p.needs.stages[stage];
  return parameter_memory({.graph = p.in.graph,
                           .lowering = p.model.lowering(),
                           .optimizer = p.in.config.optimizer,
                           .first = layers.first,
                           .last = layers.last,
                           .weight_copies = need.weight_copies,
                           .mixes = need.mixes_weights,
                           .keeps_delta = need.delta.keeps,
                           .statistics_logged = need.statistics_logged});
}

PassNeedsOfModes passes_of(const CompiledPipeline& p, const CompiledPart& part, StageId stage,
                           int copy) {
  const StageNeeds& need = p.needs.stages[stage];
  PassNeedsOfModes modes;
  for (const CompiledStage& compiled : part.kernels) {
    StageSizes& most = modes[compiled.size.mode].each;
    most = largest(most, sizes_of(compiled));
  }
  PassNeeds& training = modes[Mode::Train];
  training.slots = need.slots;
  training.input_slots = need.input_slots;
  const PacketBytes packets =
      packet_room({p.in.plan, p.in.backend, p.model, p.sizes, p.needs, p.in.ranks}, stage, copy);
  for (std::size_t mode = 0; mode < modes.size(); ++mode) {
    modes[mode].packets = packets.own[mode];
    modes[mode].received = packets.received;
  }
  return modes;
}

HeldMemory held_by(const CompiledPipeline& p, const CompiledPart& part, std::size_t copy) {
  const auto in_mode = [&](Mode mode) {
    return part.parameters + part.passes[copy][mode].account();
  };
  HeldMemory held{.training = in_mode(Mode::Train), .validation = {}};
  if (copy == 0 && most_samples(p.sizes, Mode::Evaluate) > 0)
    held.validation = in_mode(Mode::Evaluate);
  return held;
}

}  // namespace

CompiledPipeline compile_pipeline(const PipelineInput& in) {
  std::vector<MicrobatchSize> sizes = microbatch_sizes(in.sizes, minibatch_parts(in.config));
  PipelineNeeds needs = needs_of(in);
  check_device_ranks(in, needs);
  LoweredModel model = lower_for(in, sizes, recomputes(needs.program.program));
  CompiledPipeline p{in, std::move(sizes), std::move(needs), std::move(model), {}};
  for (std::size_t s = 0; s < in.plan.stages.size(); ++s) {
    CompiledPart& part = p.parts.emplace_back();
    part.kernels = kernels_of(p, s);
    part.parameters = parameters_of(p, s);
    for (int copy = 0; copy < p.needs.stages[s].copies; ++copy)
      part.passes.push_back(passes_of(p, part, {static_cast<int>(s)}, copy));
  }
  share_workspaces(p);
  return p;
}

std::vector<HeldMemory> predicted_memory(const CompiledPipeline& p) {
  std::vector<HeldMemory> stages;
  for (const CompiledPart& part : p.parts) {
    HeldMemory& stage = stages.emplace_back();
    for (std::size_t copy = 0; copy < part.passes.size(); ++copy)
      stage = stage + held_by(p, part, copy);
  }
  return stages;
}

std::vector<HeldMemory> predicted_first_copies(const CompiledPipeline& p) {
  std::vector<HeldMemory> stages;
  for (const CompiledPart& part : p.parts) stages.push_back(held_by(p, part, 0));
  return stages;
}

}  // namespace pipetrain
