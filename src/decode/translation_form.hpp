// A model of two sides compiled as it translates sources of one length.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/indexed.hpp"
#include "compile/lowered_model.hpp"
#include "graph/translation.hpp"

namespace pipetrain {

using Kernels =
    Indexed<std::unique_ptr<Kernel>, LayerId>;  // per layer; null where it is not asked for

struct TranslationCompileInput {
  const LoweredModel& model;  // outlives what is made; add() for the lengths comes first
  std::span<const Needs> needs;
  int rows = 1;
};

// Layers that need the source alone, and those that need one position of the target: their kernels
// at a target of one position, and a place for each value that is read or made there. What such a
// layer wants of the source is there as long as positions come.
struct TranslationForm {
  const Lowering* lowering = nullptr;
  Kernels kernels;
  Indexed<std::size_t, ValueId> offsets;  // per value, in one block
  std::size_t bytes = 0;                  // of the block
};

TranslationForm make_translation_form(const TranslationCompileInput& input, std::int64_t source);

// The kernels of the layers that need the prefix, at prefixes of that length.
Kernels make_prefix_kernels(const TranslationCompileInput& input, const Lengths& lengths);

// The largest of what they want for themselves.
struct KernelBytes {
  std::size_t scratch = 0, saved = 0;
};
KernelBytes largest(const Kernels& kernels);

}  // namespace pipetrain
