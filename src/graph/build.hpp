// From the tables of a model file to layers: names resolved, blocks written out, shapes inferred.
#pragma once

#include "graph/model_text.hpp"
#include "graph/problems.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::model_file {

// Appends the layers of `list` to `graph`, which has its input already (without dimensions if that
// could not be read), declared at `input`. If the input has two sides, the layers "source" and
// "target" come first. Mistakes go to `problems`; a graph with problems must not be used.
void build_layers(const List& list, const Table& blocks, Position input, Graph& graph,
                  Problems& problems);

}  // namespace pipetrain::model_file
