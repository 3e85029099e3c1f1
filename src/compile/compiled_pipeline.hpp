// All that a pipeline is made of before it takes any memory: its programs, the lowered model, each
// stage's kernels, and the bytes that all of it will take. Made once; what is predicted is read off
// it, and Pipeline is made from it.
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
  std::vector<CompiledStage> kernels;    // one per size of micro-batch; of the stage's first copy
  MemoryAccount parameters;              // of each copy
  std::vector<PassNeedsOfModes> passes;  // per copy; evaluation is the first one's
};

struct CompiledPipeline {
  PipelineInput in;  // what it names outlives the pipeline
  std::vector<MicrobatchSize> sizes;
  PipelineNeeds needs;
  LoweredModel model;
  std::vector<CompiledPart> parts;  // one per stage
};

// Kernels are compiled on this thread, for as many threads as the config gives a stage. UsageError
// where a schedule or a layer refuses the config.
CompiledPipeline compile_pipeline(const PipelineInput& input);

// Bytes of each stage, with all its copies; equal to what Pipeline::memory() says later.
std::vector<HeldMemory> predicted_memory(const CompiledPipeline& pipeline);
// The same of each stage's first copy alone: no other one takes more.
std::vector<HeldMemory> predicted_first_copies(const CompiledPipeline& pipeline);

}  // namespace pipetrain
