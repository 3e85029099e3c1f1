// A model of two sides at other lengths than those in its file: a sentence is padded to its
// bucket's lengths, not to the longest ones.
#pragma once

#include "base/lengths.hpp"

namespace pipetrain {

struct Graph;

// The graph's own lengths; 0, 0 for a model of one side.
Lengths lengths_of(const Graph& graph);

// The same layers over sequences of these lengths, each at most the graph's own. Parameters, their
// names and the order of values stay the same. 0, 0: the graph unchanged. Throws a UsageError that
// names the layer that cannot read sequences of these lengths.
Graph with_lengths(const Graph& graph, Lengths lengths);

}  // namespace pipetrain
