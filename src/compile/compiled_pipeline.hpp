// Everything that a pipeline consists of before it takes any memory: its programs, the lowered
// model, each stage's kernels, and the bytes that all of it will take. Made once; predictions are
// read from it, and a Pipeline is made from it.
#pragma once

#include <vector>

#include "compile/compiled_stage.hpp"
#include "compile/lowered_model.hpp"
#include "compile/memory_account.hpp"
#include "compile/pass_needs.hpp"
#include "compile/pipeline_input.hpp"
#include "compile/pipeline_sizes.hpp"

namespace pipetrain {

struct CompiledPart {                    // a stage
  std::vector<CompiledStage> kernels;    // one per size of micro-batch; for the stage's first copy
  MemoryAccount parameters;              // of each copy
  std::vector<PassNeedsOfModes> passes;  // per copy; only the first one evaluates
};

struct CompiledPipeline {
  PipelineInput in;  // what it refers to outlives the pipeline
  std::vector<MicrobatchSize> sizes;
  PipelineNeeds needs;
  LoweredModel model;
  std::vector<CompiledPart> parts;  // one per stage
};

// Compiles kernels on this thread, for as many threads as the config gives a stage. Throws a
// UsageError if a schedule or a layer refuses the config.
CompiledPipeline compile_pipeline(const PipelineInput& input);

// Bytes of each stage, with all its copies; equal to what Pipeline::memory() reports later.
std::vector<HeldMemory> predicted_memory(const CompiledPipeline& pipeline);
// The same for each stage's first copy only: no other copy takes more.
std::vector<HeldMemory> predicted_first_copies(const CompiledPipeline& pipeline);

}  // namespace pipetrain
