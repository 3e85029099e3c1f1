// What a pipeline will take, added up from the same recipes without taking any of it.
#include <algorithm>

#include "runtime/parameter_memory.hpp"
#include "runtime/pipeline_sizes.hpp"

namespace pipetrain {

namespace {

std::vector<MemoryAccount> predict(const PipelineInput& in, bool first_copies) {
  const int stages = static_cast<int>(in.plan.stages.size());
  const auto sizes = microbatch_sizes(in.config, in.train_samples, in.validation_samples);
  const PipelineNeeds needs = needs_of(in);
  const auto lowering = lower_for(in);
  std::vector<MemoryAccount> accounts(static_cast<std::size_t>(stages));
  for (std::size_t s = 0; s < accounts.size(); ++s) {
    const StagePlan& stage = in.plan.stages[s];
    MemoryAccount& account = accounts[s];
    const StageNeeds& need = needs.stages[s];
    account = parameter_memory({.graph = in.graph,
                                .lowering = *lowering,
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
      const StageSizes each = sizes_of(compile_stage({.graph = in.graph,
                                                      .lowering = *lowering,
                                                      .first = stage.first,
                                                      .last = stage.last,
                                                      .samples = size.samples,
                                                      .mode = size.mode,
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
    for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
      const int samples = largest_microbatch(sizes, mode);
      if (samples == 0) continue;
      const bool train = mode == Mode::Train;
      const auto lanes = [&](const StageNeeds& before) {
        return static_cast<std::size_t>(!train         ? 1
                                        : first_copies ? before.lanes / need.copies
                                                       : before.lanes);
      };
      if (s + 1 < accounts.size())
        account[Use::Packets] +=
            lanes(need) *
            static_cast<std::size_t>(train ? need.packets.activations : evaluation_packets) *
            packet_bytes(
                activation_packet(in.graph, *lowering, in.plan.stages[s + 1].first, samples).bytes,
                1);
      if (s > 0 && train)
        account[Use::Packets] +=
            lanes(needs.stages[s - 1]) *
            static_cast<std::size_t>(needs.stages[s - 1].packets.gradients) *
            packet_bytes(gradient_packet(in.graph, *lowering, stage.first, samples).bytes,
                         need.gradients_in_a_packet);
    }
  }
  return accounts;
}

}  // namespace

std::vector<MemoryAccount> predict_memory(const PipelineInput& in) { return predict(in, false); }
std::vector<MemoryAccount> predict_first_copies(const PipelineInput& in) {
  return predict(in, true);
}

}  // namespace pipetrain
