#include "compile/pipeline_sizes.hpp"

#include <algorithm>
#include <numeric>

#include "base/cache_line.hpp"
#include "compile/recipe.hpp"
#include "compile/recomputed_layers.hpp"
#include "program/liveness.hpp"
#include "program/versions_kept.hpp"

namespace pipetrain {
namespace {

// Raises the needs to at least what the program asks of each stage.
void add_needs(const Program& program, std::vector<StageNeeds>& stages) {
  const std::vector<int> slots = peak_slots(program), inputs = peak_inputs(program),
                         until_update = peak_until_update(program);
  const std::vector<PacketCounts> packets = packet_counts(program);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageNeeds& stage = stages[s];
    const StageId id{static_cast<int>(s)};
    stage.slots = std::max(stage.slots, slots[s]);
    if (recomputes(program)) stage.input_slots = std::max(stage.input_slots, inputs[s]);
    stage.weight_copies = std::max(stage.weight_copies, versions_kept(program, id));
    stage.mixes_weights = stage.mixes_weights || mixes_weights(program, id);
    if (program.gradients_together) stage.gradients_in_a_packet = program.microbatches;
    stage.copies = program.copies_of(id);
    if (stage.copies > 1)
      stage.statistics_logged = std::max(stage.statistics_logged, until_update[s]);
    if (s + 1 == stages.size()) continue;
    stage.lanes = std::lcm(stage.copies, program.copies_of({id.value + 1}));
    stage.packets.activations = std::max(stage.packets.activations, packets[s].activations);
    stage.packets.gradients = std::max(stage.packets.gradients, packets[s].gradients);
  }
}

}  // namespace

PipelineNeeds needs_of(const PipelineInput& in) {
  const int stages = static_cast<int>(in.plan.stages.size()), workers = in.config.pipeline.stages;
  const std::int64_t sync = warmup_steps(in.config, in.steps_per_epoch);
  PipelineNeeds needs;
  needs.tied = tied_stages(in.graph, in.plan);
  if (in.program)
    needs.program.program = *in.program;
  else
    needs.program = training_program(in.config, workers,
                                     std::max<std::int64_t>(1, in.total_steps - sync), needs.tied);
  if (sync > 0) needs.warmup.program = warmup_program(in.config, workers, needs.tied);
  needs.split_backward = splits_backward(needs.program.program);
  needs.recomputed = recomputed_layers(in.config.pipeline, in.graph, needs.program.program);
  needs.stages.resize(stages);
  add_needs(needs.program.program, needs.stages);
  // A segment that ends elsewhere within a round has its own program.
  const int round = in.program ? 1 : needs.program.program.minibatches_per_round();
  for (int fewer = 1; fewer < round && fewer < in.total_steps - sync; ++fewer)
    add_needs(
        training_program(in.config, workers, in.total_steps - sync - fewer, needs.tied).program,
        needs.stages);
  if (sync > 0) add_needs(needs.warmup.program, needs.stages);
  // Copies that a schedule makes by itself (both directions of chimera, data_parallel) keep their
  // own statistics; the model's are those of the first.
  if (std::ranges::all_of(in.config.pipeline.replicas, [](int r) { return r == 1; }))
    for (StageNeeds& stage : needs.stages) stage.statistics_logged = 0;
  for (int s = 0; s < stages; ++s) needs.stages[s].delta = delta_rule(in.config, workers, {s});
  return needs;
}

std::vector<WorkerId> workers_of(const Program& program, StageId stage) {
  if (program.placement.empty()) return {{stage.value}};
  return program.placement[stage];
}

PacketSizes packet_sizes(const LoweredModel& model, LayerId next,
                         std::span<const MicrobatchSize> sizes, Mode mode) {
  PacketSizes largest;
  for (const auto& [samples, its_mode, lengths] : sizes) {
    if (its_mode != mode) continue;
    const Graph& graph = model.graph(lengths);
    const Lowering& lowering = model.lowering(lengths);
    largest.activations =
        std::max(largest.activations, activation_packet(graph, lowering, next, samples).bytes);
    largest.gradients =
        std::max(largest.gradients, gradient_packet(graph, lowering, next, samples).bytes);
  }
  return largest;
}

std::size_t packet_bytes(std::size_t bytes, int microbatches) {
  return std::max<std::size_t>(bytes * static_cast<std::size_t>(microbatches), kCacheLine);
}

}  // namespace pipetrain
