// The shape rule of each layer: what follows from its sizes and the shapes of its inputs, as in
// PyTorch (floor mode), with parameters in PyTorch's names, layouts and default initialisation.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/layer.hpp"

namespace pipetrain {

struct LayerFacts {
  Shape output;
  std::vector<Parameter> parameters;  // names within the layer: "weight"
  std::vector<Buffer> buffers;
  std::int64_t flops = 0;
};

struct Misfit {
  std::string why;  // "it needs a [features] input; add a flatten layer before it"
};

std::variant<LayerFacts, Misfit> shape_rule(const LayerSpec& spec, std::span<const Shape> inputs);

// The count as an integer. A count above what any layer may have stays above it.
std::int64_t whole_flops(double count);

// Whether every dimension is positive and their product is below 2^40, so that sums of sizes over a
// whole model cannot overflow.
bool reasonable(const Shape& shape);

}  // namespace pipetrain
