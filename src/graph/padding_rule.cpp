#include "graph/padding_rule.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace pipetrain {
namespace {

bool is_tokens(const Shape& shape) { return shape.vocabulary > 0; }

}  // namespace

std::variant<std::span<const Shape>, Misfit> values_before_tokens(std::int64_t padding,
                                                                  std::span<const Shape> inputs,
                                                                  const TokenWords& words) {
  const auto tokens = std::ranges::count_if(inputs, is_tokens);
  if (tokens == std::ssize(inputs))
    return Misfit{"it needs numbers, but these are tokens; put an embedding layer before it"};
  if (tokens > 1 || (tokens == 1 && !is_tokens(inputs.back())))
    return Misfit{fmt::format("it takes {} tokens once, as its last input; write inputs = {}",
                              words.whose, words.with_tokens)};
  if (tokens == 1 && padding < 0)
    return Misfit{
        "it has tokens but no padding; write padding = TOKEN, the token that fills up sequences, "
        "or leave the tokens out of inputs"};
  if (tokens == 0 && padding >= 0)
    return Misfit{
        fmt::format("with padding = {} it needs {} tokens too; name them last in inputs, as in "
                    "inputs = {}, or leave padding out",
                    padding, words.whose, words.with_tokens)};
  return inputs.first(inputs.size() - static_cast<std::size_t>(tokens));
}

std::optional<Misfit> wrong_tokens(std::int64_t padding, const Shape& tokens,
                                   std::int64_t positions, std::string_view what) {
  if (tokens.dims.size() != 1 || tokens.dims[0] != positions)
    return Misfit{
        fmt::format("there are {0} of {1} positions, but {2} tokens; name the tokens that the {0} "
                    "were made from",
                    what, positions, tokens.elements())};
  if (padding >= tokens.vocabulary)
    return Misfit{fmt::format(
        "padding = {} is not one of the {} tokens (0 to {}); write the one that fills up sequences",
        padding, tokens.vocabulary, tokens.vocabulary - 1)};
  return std::nullopt;
}

}  // namespace pipetrain
