#include "compile/prediction.hpp"

#include "compile/packet_room.hpp"
#include "compile/parameter_memory.hpp"
#include "compile/pass_needs.hpp"
#include "compile/pipeline_sizes.hpp"

namespace pipetrain {

namespace {

// What the passes of one copy take.
PassNeedsOfModes pass_needs(const PipelineInput& in, const PipelineNeeds& needs,
                            const LoweredModel& model, std::span<const MicrobatchSize> sizes,
                            StageId stage, int copy) {
  const StageNeeds& need = needs.stages[static_cast<std::size_t>(stage.value)];
  const StagePlan& part = in.plan.stages[static_cast<std::size_t>(stage.value)];
  PassNeedsOfModes modes;
  for (const MicrobatchSize& size : sizes) {
    StageSizes& most = modes[static_cast<std::size_t>(size.mode)].each;
    most = largest(most, sizes_of(compile_stage({.graph = model.graph(size.lengths),
                                                 .lowering = model.lowering(size.lengths),
                                                 .first = part.first,
                                                 .last = part.last,
                                                 .size = size,
                                                 .split_backward = needs.split_backward,
                                                 .recomputes = need.input_slots > 0})));
  }
  PassNeeds& training = modes[static_cast<std::size_t>(Mode::Train)];
  training.slots = need.slots;
  training.input_slots = need.input_slots;
  const auto packets = packet_room({in.plan, in.backend, model, sizes, needs}, stage, copy);
  for (std::size_t mode = 0; mode < modes.size(); ++mode) modes[mode].packets = packets[mode];
  return modes;
}

std::vector<HeldMemory> predict(const PipelineInput& in, bool first_copies) {
  const auto sizes = microbatch_sizes(in.sizes, minibatch_parts(in.config));
  const PipelineNeeds needs = needs_of(in);
  const LoweredModel model = lower_for(in, sizes);
  std::vector<HeldMemory> stages(in.plan.stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageNeeds& need = needs.stages[s];
    const MemoryAccount parameters = parameter_memory({.graph = in.graph,
                                                       .lowering = model.lowering(),
                                                       .optimizer = in.config.optimizer,
                                                       .first = in.plan.stages[s].first,
                                                       .last = in.plan.stages[s].last,
                                                       .weight_copies = need.weight_copies,
                                                       .mixes = need.mixes_weights,
                                                       .keeps_delta = need.delta.keeps});
    for (int copy = 0; copy < (first_copies ? 1 : need.copies); ++copy) {
      const PassNeedsOfModes passes =
          pass_needs(in, needs, model, sizes, {static_cast<int>(s)}, copy);
      const auto in_mode = [&](Mode mode) {
        return parameters + passes[static_cast<std::size_t>(mode)].account();
      };
      stages[s].training = stages[s].training + in_mode(Mode::Train);
      if (copy == 0 && most_samples(sizes, Mode::Evaluate) > 0)  // evaluation is the first copy's
        stages[s].validation = in_mode(Mode::Evaluate);
    }
  }
  return stages;
}

}  // namespace

std::vector<HeldMemory> predict_memory(const PipelineInput& in) { return predict(in, false); }
std::vector<HeldMemory> predict_first_copies(const PipelineInput& in) { return predict(in, true); }

}  // namespace pipetrain
