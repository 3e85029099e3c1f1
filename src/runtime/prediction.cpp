// What a pipeline will take, added up from the same recipes without taking any of it.
#include <algorithm>

#include "program/liveness.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/segment_program.hpp"

namespace pipetrain {
namespace {

void count_parameters(const PipelineInput& in, const Lowering& lowering, const StagePlan& stage,
                      int copies, MemoryAccount& account) {
  const bool sgd = in.config.optimizer.kind == "sgd";
  const std::size_t moments = sgd ? (in.config.optimizer.momentum != 0 ? 1 : 0) : 2;
  for (LayerId l = stage.first; l <= stage.last; ++l.value) {
    const Layer& layer = in.graph.layers[static_cast<std::size_t>(l.value)];
    std::size_t stored = 0;
    for (int p = 0; p < static_cast<int>(layer.parameters.size()); ++p)
      stored += lowering.parameter_bytes(l, p);
    account[Use::Weights] +=
        static_cast<std::size_t>(copies) * (stored + lowering.packed_bytes(l, Pass::Forward) +
                                            lowering.packed_bytes(l, Pass::Backward));
    for (const Buffer& buffer : layer.buffers)
      account[Use::Weights] += static_cast<std::size_t>(buffer.shape.elements()) * sizeof(float);
    account[Use::Gradients] += stored;
    account[Use::Optimizer] += moments * stored;
  }
}

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
    const auto slots = static_cast<std::size_t>(in_flight[s]);
    count_parameters(in, *lowering, stage, versions_kept(program, {static_cast<int>(s)}), account);
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
