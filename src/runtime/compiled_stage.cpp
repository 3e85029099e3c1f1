#include "runtime/compiled_stage.hpp"

#include <algorithm>

namespace pipetrain {

CompiledStage compile_stage(const CompileInput& in) {
  CompiledStage c;
  c.samples = in.samples;
  c.mode = in.mode;
  for (int l = in.first.value; l <= in.last.value; ++l)
    c.kernels.push_back(in.lowering.make_kernel({l}, {.samples = in.samples, .mode = in.mode}));
  if (in.last.value + 1 == static_cast<int>(in.graph.layers.size()))
    c.loss = in.lowering.make_loss(in.samples);
  c.recipe = make_recipe({.graph = in.graph,
                          .lowering = in.lowering,
                          .first = in.first,
                          .last = in.last,
                          .kernels = c.kernels,
                          .samples = in.samples,
                          .mode = in.mode,
                          .split_backward = in.split_backward,
                          .recomputes = in.recomputes});
  return c;
}

StageSizes sizes_of(const CompiledStage& c) {
  return {c.recipe.slot_bytes, c.recipe.workspace_bytes,
          std::max(c.recipe.scratch_bytes, c.loss ? c.loss->scratch_bytes() : 0),
          c.recipe.input_slot_bytes};
}

StageSizes largest(const StageSizes& a, const StageSizes& b) {
  return {std::max(a.slot, b.slot), std::max(a.workspace, b.workspace),
          std::max(a.scratch, b.scratch), std::max(a.input_slot, b.input_slot)};
}

SamplePart sample_part(int samples, int parts, int index) {
  const int size = samples / parts, larger = samples % parts;
  return {index * size + std::min(index, larger), size + (index < larger ? 1 : 0)};
}

std::vector<MicrobatchSize> microbatch_sizes(const Config& config, std::int64_t train_samples,
                                             std::int64_t validation_samples) {
  std::vector<MicrobatchSize> sizes;
  const auto add = [&](std::int64_t minibatch, int parts, Mode mode) {
    for (int i = 0; i < parts; ++i) {
      const int count = sample_part(static_cast<int>(minibatch), parts, i).count;
      const auto same = [&](const MicrobatchSize& s) {
        return s.samples == count && s.mode == mode;
      };
      if (count > 0 && std::none_of(sizes.begin(), sizes.end(), same))
        sizes.push_back({count, mode});
    }
  };
  const int parts = config.pipeline.microbatches;
  if (train_samples > 0) add(config.data.batch_size, parts, Mode::Train);
  if (train_samples > 0 && !config.data.drop_last)
    add(train_samples % config.data.batch_size, parts, Mode::Train);
  if (validation_samples > 0) {
    const std::int64_t batch = std::min(config.validation.batch_size, validation_samples);
    add(batch, 1, Mode::Evaluate);
    add(validation_samples % batch, 1, Mode::Evaluate);
  }
  return sizes;
}

int largest_microbatch(const std::vector<MicrobatchSize>& sizes, Mode mode) {
  int most = 0;
  for (const MicrobatchSize& size : sizes)
    if (size.mode == mode) most = std::max(most, size.samples);
  return most;
}

}  // namespace pipetrain
