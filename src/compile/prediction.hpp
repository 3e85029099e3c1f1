// What a pipeline will take, before any of it is taken.
#pragma once

#include <vector>

#include "compile/memory_account.hpp"
#include "compile/pipeline_input.hpp"

namespace pipetrain {

// Bytes of each stage, with all its copies, before anything is allocated; equal to what memory()
// says later.
std::vector<HeldMemory> predict_memory(const PipelineInput& input);
// The same of the first copy alone: no other one takes more.
std::vector<HeldMemory> predict_first_copies(const PipelineInput& input);

}  // namespace pipetrain
