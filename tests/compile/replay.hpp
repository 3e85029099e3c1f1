// A recipe run over symbols instead of numbers: every piece of memory holds the name of what was
// written there, and each step finds what it should read, whole. Two live buffers that overlap, a
// value that is missing in a packet, or a gradient that is summed wrongly all show as a wrong name.
#pragma once

#include <string>
#include <vector>

#include "compile/recipe.hpp"

namespace pipetrain::testing {

struct ReplayInput {
  const Graph& graph;
  const Lowering& lowering;
  LayerId first, last;
  int samples = 1;
  Mode mode = Mode::Train;
  bool split_backward = false;
  const Indexed<bool, LayerId>* recomputed = nullptr;  // RecipeInput::recomputed
};

// What is wrong, in words; empty if nothing is.
std::vector<std::string> replay(const ReplayInput& input);

}  // namespace pipetrain::testing
