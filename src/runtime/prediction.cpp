// What a pipeline will take, added up from the same recipes without taking any of it.
#include <algorithm>

#include "program/liveness.hpp"
#include "runtime/parameter_memory.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/segment_program.hpp"

namespace pipetrain {
namespace {

std::size_t at_least_a_line(std::size_t bytes) { return std::max<std::size_t>(bytes, 64); }

}  // namespace

std::vector<MemoryAccount> predict_memory(const PipelineInput& in) {
  const int stages = static_cast<int>(in.plan.stages.size());
  const auto sizes = microbatch_sizes(in.config, in.train_samples, in.validation_samples);
  const Program program = in.program ? *in.program : training_program(in.config, stages);
  const std::vector<int> in_flight = peak_activations(program);
  const std::vector<PacketCounts> counts = packet_counts(program);
  const auto lowering = lower_for(in);
  std::vector<MemoryAccount> accounts(static_cast<std::size_t>(stages));
  for (std::size_t s = 0; s < accounts.size(); ++s) {
    const StagePlan& stage = in.plan.stages[s];
    MemoryAccount& account = accounts[s];
    account = parameter_memory({.graph = in.graph,
                                .lowering = *lowering,
                                .optimizer = in.config.optimizer,
                                .first = stage.first,
                                .last = stage.last,
                                .weight_copies = versions_kept(program, {static_cast<int>(s)})});
    const auto slots = static_cast<std::size_t>(in_flight[s]);
    StageSizes most;
    for (const MicrobatchSize& size : sizes)
      most = largest(most, sizes_of(compile_stage({.graph = in.graph,
                                                   .lowering = *lowering,
                                                   .first = stage.first,
                                                   .last = stage.last,
                                                   .samples = size.samples,
                                                   .mode = size.mode,
                                                   .split_backward = splits_backward(program)})));
    account[Use::Activations] = slots * most.slot;
    account[Use::Workspace] = most.workspace + most.scratch;
    for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
      const int samples = largest_microbatch(sizes, mode);
      if (samples == 0) continue;
      const bool train = mode == Mode::Train;
      if (s + 1 < accounts.size())
        account[Use::Packets] +=
            static_cast<std::size_t>(train ? counts[s].activations : evaluation_packets) *
            at_least_a_line(
                activation_packet(in.graph, *lowering, in.plan.stages[s + 1].first, samples).bytes);
      if (s > 0 && train)
        account[Use::Packets] +=
            static_cast<std::size_t>(counts[s - 1].gradients) *
            at_least_a_line(gradient_packet(in.graph, *lowering, stage.first, samples).bytes);
    }
  }
  return accounts;
}

}  // namespace pipetrain
