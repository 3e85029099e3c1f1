// The shape rule of additive_attention (shapes.hpp).
#pragma once

#include <span>
#include <variant>

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {

// `inputs`: queries [T, N], keys [S, N] and values [S, C]; if spec.padding is a token, also the
// keys' tokens [S]. Parameters: linear_att [N] and, if normalised, normalize_scalar [1] and
// normalize_bias [N]. FLOPs: [T, S, N] tanh at 10 each, a softmax of [T, S] and a matrix product.
std::variant<LayerFacts, Misfit> additive_attention_rule(const AdditiveAttention& spec,
                                                         std::span<const Shape> inputs);

}  // namespace pipetrain
