// A model of two sides as a translation needs it: what depends on the source alone is computed once
// a sentence, what reads the target once a token, and of that the last layers at one position only.
#pragma once

#include <vector>

#include "graph/graph.hpp"

namespace pipetrain {

// For each value: is it made of the target's tokens?
std::vector<bool> made_of_target(const Graph& graph);

// The parts of such a model, each as the first of its layers:
//
//   encoder  0 .. decoder - 1   reads the source, once
//   decoder  decoder .. head - 1   reads the target so far
//   head     head .. the end   takes each position for itself: one is enough
struct TranslationParts {
  LayerId decoder, head;
};

// UsageError: a model of one side, one that gives no output of a token for each position of the
// target, one whose outputs depend on tokens behind their position, or one without a head.
TranslationParts translation_parts(const Graph& graph);

}  // namespace pipetrain
