// What the shape rules of layers with padding share (shapes.hpp): such a layer reads values, and
// where its `padding` is a token, then the tokens at the positions of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {

struct TokenWords {              // for messages
  std::string_view whose;        // "the keys'"
  std::string_view with_tokens;  // what to write for inputs: ["x", "tokens"]
};

// The inputs before the tokens, at least one; or what is wrong with which inputs there are.
// `padding`: -1 where there are to be no tokens.
std::variant<std::span<const Shape>, Misfit> values_before_tokens(std::int64_t padding,
                                                                  std::span<const Shape> inputs,
                                                                  const TokenWords& words);

// What is wrong with tokens for this many positions. `what` has these: "keys".
std::optional<Misfit> wrong_tokens(std::int64_t padding, const Shape& tokens,
                                   std::int64_t positions, std::string_view what);

}  // namespace pipetrain
