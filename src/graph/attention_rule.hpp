// The shape rule of attention (shapes.hpp).
#pragma once

#include <span>
#include <variant>

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {

// `inputs`: [T, 3C] or [T, C] and [S, 2C]; where spec.padding is a token, then the keys' tokens
// [S]. FLOPs of a head: two products of [T, S, width] and a softmax of [T, S], half of which causal
// attention needs.
std::variant<LayerFacts, Misfit> attention_rule(const Attention& spec,
                                                std::span<const Shape> inputs);

}  // namespace pipetrain
