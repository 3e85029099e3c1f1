// The shape rule of attention (shapes.hpp).
#pragma once

#include <span>
#include <variant>

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {

// `inputs`: [T, 3C], or [T, C] and [S, 2C]; if spec.padding is a token, also the keys' tokens [S].
// FLOPs of a head: two matrix products of [T, S, width] and a softmax of [T, S]; causal attention
// needs half of that.
std::variant<LayerFacts, Misfit> attention_rule(const Attention& spec,
                                                std::span<const Shape> inputs);

}  // namespace pipetrain
