// From the tables of a model file to layers: names resolved, blocks written out, shapes inferred.
#pragma once

#include "graph/model_text.hpp"
#include "graph/problems.hpp"

namespace pipetrain {
struct Graph;
}

namespace pipetrain::model_file {

// Appends the layers of `list` to a graph that has its input (without dimensions where that
// could not be read), which is at `input`; before them, of an input of two sides, the layers
// "source" and "target". Mistakes go to `problems`; a graph with problems must not be used.
void build_layers(const List& list, const Table& blocks, Position input, Graph& graph,
                  Problems& problems);

}  // namespace pipetrain::model_file
