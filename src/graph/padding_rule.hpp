// What the shape rules of layers with padding share (shapes.hpp). Such a layer reads values and, if
// its `padding` is a token, also the tokens at the positions of one of those values.
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
  std::string_view with_tokens;  // what to write as inputs: ["x", "tokens"]
};

// The inputs that come before the tokens, at least one; or why these inputs do not fit. `padding`
// is -1 if there must be no tokens.
std::variant<std::span<const Shape>, Misfit> values_before_tokens(std::int64_t padding,
                                                                  std::span<const Shape> inputs,
                                                                  const TokenWords& words);

// What is wrong with `tokens` as those of this many positions, which belong to `what`: "keys".
std::optional<Misfit> wrong_tokens(std::int64_t padding, const Shape& tokens,
                                   std::int64_t positions, std::string_view what);

}  // namespace pipetrain
