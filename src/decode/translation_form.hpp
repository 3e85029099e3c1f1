// A model of two sides, compiled to translate sources of one length.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/indexed.hpp"
#include "compile/lowered_model.hpp"
#include "graph/translation.hpp"

namespace pipetrain {

using Kernels = Indexed<std::unique_ptr<Kernel>, LayerId>;  // per layer; null if not needed

struct TranslationCompileInput {
  const LoweredModel& model;  // must outlive the results; call its add() for the lengths first
  std::span<const Needs> needs;
  int rows = 1;
};

// The layers that need only the source, and those that need one position of the target: their
// kernels, for a target of one position, and a place for each value that they read or make. What
// the latter read of the source stays in place while positions follow.
struct TranslationForm {
  const Lowering* lowering = nullptr;
  Kernels kernels;
  Indexed<std::size_t, ValueId> offsets;  // per value, in one block
  std::size_t bytes = 0;                  // of that block
};

TranslationForm make_translation_form(const TranslationCompileInput& input, std::int64_t source);

// The kernels of the layers that need the whole prefix, for prefixes of this length.
Kernels make_prefix_kernels(const TranslationCompileInput& input, const Lengths& lengths);

// The largest scratch and saved memory that any of the kernels needs.
struct KernelBytes {
  std::size_t scratch = 0, saved = 0;
};
KernelBytes largest(const Kernels& kernels);

}  // namespace pipetrain
