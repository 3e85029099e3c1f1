// A model of two sides as a translation needs it: what depends on the source alone is computed once
// a sentence, what reads the target once a token, and of that as little as the layer allows.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "base/indexed.hpp"

namespace pipetrain {

struct Graph;

// The two sides of the input, which the first two layers cut it into (graph/build.cpp).
inline constexpr int side_layers = 2;
inline constexpr ValueId source_value{1}, target_value{2};

// For each value: is it made of the target's tokens?
Indexed<bool, ValueId> made_of_target(const Graph& graph);

// What a layer must be given for its output at one position of the target:
//
//   Source     nothing of the target: once a sentence is enough
//   Position   of the target that position alone, beside what it carries from one to the next
//              itself: a linear layer, attention to the encoder; an lstm
//   Prefix     that position and all before it: it mixes them, or counts them
enum class Needs { Source, Position, Prefix };

// For each layer. UsageError: a model of one side, one that gives no output of a token for each
// position of the target, one whose outputs depend on tokens after their position, one that reads
// both sides as one value, and one that cannot read a target of one token.
Indexed<Needs, LayerId> needs_to_translate(const Graph& graph);

}  // namespace pipetrain
