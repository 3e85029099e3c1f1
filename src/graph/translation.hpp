// A model of two sides as a translation uses it: what depends on the source alone is computed once
// per sentence, and what reads the target once per token, over as few positions as the layer
// allows.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "base/indexed.hpp"

namespace pipetrain {

struct Graph;

// The two sides of the input, into which the first two layers cut it (graph/build.cpp).
inline constexpr int side_layers = 2;
inline constexpr ValueId source_value{1}, target_value{2};

// For each value: does it depend on the target's tokens?
Indexed<bool, ValueId> made_of_target(const Graph& graph);

// What a layer must be given for its output at one position of the target:
//
//   Source     nothing of the target: once per sentence is enough
//   Position   of the target that position alone, besides what the layer itself carries from one
//              to the next: a linear layer, attention to the encoder; an lstm
//   Prefix     that position and all before it: it mixes them, or counts them
enum class Needs { Source, Position, Prefix };

// For each layer. Throws a UsageError for a model of one side, and for one that does not give an
// output of a token for each position of the target, whose outputs depend on later tokens, that
// reads both sides as one value, or that cannot read a target of one token.
Indexed<Needs, LayerId> needs_to_translate(const Graph& graph);

}  // namespace pipetrain
