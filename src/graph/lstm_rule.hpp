// The shape rule of lstm (shapes.hpp).
#pragma once

#include <span>
#include <variant>

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {

// `inputs`: [T, C]; where spec.padding is a token, then the sequence's tokens [T]. Parameters as
// torch.nn.LSTM of one layer has them, the gates in the order i, f, g, o; those of a reversed layer
// are named as a forward one's. FLOPs of a direction: its products, and 25 a state for the gates.
std::variant<LayerFacts, Misfit> lstm_rule(const Lstm& spec, std::span<const Shape> inputs);

}  // namespace pipetrain
