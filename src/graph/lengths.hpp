// A model of two sides at other lengths than those of its file: a sentence is padded to its bucket,
// not to the longest there is.
#pragma once

#include "base/lengths.hpp"

namespace pipetrain {

struct Graph;

// The graph's own lengths; 0, 0 of a model of one side.
Lengths lengths_of(const Graph& graph);

// The same layers over sequences of these lengths, each at most the graph's own: parameters, their
// names and the order of values stay. 0, 0: the graph as it is.
// UsageError names the layer that cannot read sequences of these lengths.
Graph with_lengths(const Graph& graph, Lengths lengths);

}  // namespace pipetrain
