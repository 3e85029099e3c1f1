// A stage's layers compiled for one size of micro-batch and one mode, and the memory they take.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "compile/microbatch_size.hpp"
#include "compile/recipe.hpp"

namespace pipetrain {

struct Graph;

struct CompiledStage {
  MicrobatchSize size;
  const Lowering* lowering = nullptr;  // at the size's lengths
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::unique_ptr<LossKernel> loss;  // last stage
  Recipe recipe;
};

struct CompileInput {
  const Graph& graph;
  const Lowering& lowering;
  LayerId first, last;
  MicrobatchSize size;  // its lengths are those of the graph and the lowering
  bool split_backward = false;
  bool recomputes = false;
  const Indexed<bool, LayerId>* recomputed = nullptr;  // RecipeInput::recomputed
};

CompiledStage compile_stage(const CompileInput& input);

struct StageSizes {  // bytes
  std::size_t slot = 0, workspace = 0, scratch = 0, input_slot = 0;
};
StageSizes sizes_of(const CompiledStage& compiled);
StageSizes largest(const StageSizes& a, const StageSizes& b);

}  // namespace pipetrain
