// What tests of graphs share: models that come with the source, and their layers by name.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "graph/shapes.hpp"
#include "places.hpp"

namespace pipetrain::testing {

inline Graph shipped(const std::string& name) {
  return read_model(source_tree() / "models" / (name + ".toml"));
}

inline const Layer& layer(const Graph& graph, const std::string& name) {
  for (const Layer& candidate : graph.layers)
    if (candidate.name == name) return candidate;
  FAIL("no layer " << name);
  return graph.layers.front();
}

inline LayerFacts facts(const LayerSpec& spec, const std::vector<Shape>& inputs) {
  return std::get<LayerFacts>(shape_rule(spec, inputs));
}

}  // namespace pipetrain::testing
