#include "compile/compiled_stage.hpp"
#include "graph/graph.hpp"

#include <algorithm>

namespace pipetrain {

CompiledStage compile_stage(const CompileInput& in) {
  CompiledStage c;
  c.size = in.size;
  c.lowering = &in.lowering;
  const auto [samples, mode, lengths] = in.size;
  for (int l = in.first.value; l <= in.last.value; ++l)
    c.kernels.push_back(in.lowering.make_kernel({l}, {.samples = samples, .mode = mode}));
  if (in.last.value + 1 == static_cast<int>(in.graph.layers.size()))
    c.loss = in.lowering.make_loss(samples);
  c.recipe = make_recipe({.graph = in.graph,
                          .lowering = in.lowering,
                          .first = in.first,
                          .last = in.last,
                          .kernels = c.kernels,
                          .samples = samples,
                          .mode = mode,
                          .split_backward = in.split_backward,
                          .recomputes = in.recomputes,
                          .recomputed = in.recomputed});
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

}  // namespace pipetrain
