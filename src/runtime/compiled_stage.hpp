// A stage's layers compiled for one size of micro-batch and one mode, and what that takes.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "config/config.hpp"
#include "runtime/recipe.hpp"

namespace pipetrain {

struct CompiledStage {
  int samples = 0;
  Mode mode = Mode::Train;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::unique_ptr<LossKernel> loss;  // last stage
  Recipe recipe;
};

struct CompileInput {
  const Graph& graph;
  const Lowering& lowering;
  LayerId first, last;
  int samples = 1;
  Mode mode = Mode::Train;
  bool split_backward = false;
  bool recomputes = false;
};

CompiledStage compile_stage(const CompileInput& input);

struct StageSizes {  // bytes
  std::size_t slot = 0, workspace = 0, scratch = 0, input_slot = 0;
};
StageSizes sizes_of(const CompiledStage& compiled);
StageSizes largest(const StageSizes& a, const StageSizes& b);

// The samples [first, first + count) of micro-batch `index` (of `parts`) in a mini-batch: sizes
// differ by at most one, larger ones first.
struct SamplePart {
  int first = 0, count = 0;
};
SamplePart sample_part(int samples, int parts, int index);

// Every size that a run's micro-batches can have, the full one first.
struct MicrobatchSize {
  int samples = 0;
  Mode mode = Mode::Train;
};
std::vector<MicrobatchSize> microbatch_sizes(const Config& config, std::int64_t train_samples,
                                             std::int64_t validation_samples);
int largest_microbatch(const std::vector<MicrobatchSize>& sizes, Mode mode);  // 0: none

}  // namespace pipetrain
