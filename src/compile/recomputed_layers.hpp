// Which layers recompute = ["gelu", ..] names.
#pragma once

#include "base/indexed.hpp"
#include "config/config.hpp"
#include "graph/layer.hpp"
#include "program/program.hpp"

namespace pipetrain {

struct Graph;

// One flag for each layer of the graph: it runs again in the backward. Throws a UsageError if the
// model has no layer of a kind, if the program runs backwards in halves, or if a layer's backward
// reads other weights than its forward did, so that what is made again would be different.
Indexed<bool, LayerId> recomputed_layers(const PipelineConfig& pipeline, const Graph& graph,
                                         const Program& program);

}  // namespace pipetrain
