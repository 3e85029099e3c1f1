// The shape rule of lstm (shapes.hpp).
#pragma once

#include <span>
#include <variant>

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {

// `inputs`: [T, C]; if spec.padding is a token, also the sequence's tokens [T]. Parameters are
// those of a one-layer torch.nn.LSTM, with the gates in the order i, f, g, o; those of a reversed
// layer are named as those of a forward one. FLOPs of a direction: its matrix products, and 25 per
// state for the gates.
std::variant<LayerFacts, Misfit> lstm_rule(const Lstm& spec, std::span<const Shape> inputs);

}  // namespace pipetrain
