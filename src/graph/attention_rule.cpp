#include "graph/attention_rule.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

namespace pipetrain {
namespace {

constexpr double kMostFlops = 0x1p51;  // more than any layer may have (shapes.cpp)

bool is_tokens(const Shape& shape) { return shape.vocabulary > 0; }
bool is_rows(const Shape& shape) { return !is_tokens(shape) && shape.dims.size() == 2; }

// The values before the tokens; or what is wrong with which inputs there are.
std::variant<std::span<const Shape>, Misfit> values_of(const Attention& spec,
                                                       std::span<const Shape> inputs) {
  const auto tokens = std::ranges::count_if(inputs, is_tokens);
  if (tokens == std::ssize(inputs))
    return Misfit{"it needs numbers, and these are tokens; put an embedding layer before it"};
  if (tokens > 1 || (tokens == 1 && !is_tokens(inputs.back())))
    return Misfit{
        "it takes the keys' tokens once, as its last input; write inputs = [\"qkv\", \"tokens\"] "
        "or [\"q\", \"kv\", \"tokens\"]"};
  if (tokens == 1 && spec.padding < 0)
    return Misfit{
        "it has tokens and no padding; write padding = TOKEN, the one that fills up sequences, or "
        "leave the tokens out of inputs"};
  if (tokens == 0 && spec.padding >= 0)
    return Misfit{
        fmt::format("with padding = {} it needs the keys' tokens too; name them last in inputs, as "
                    "in inputs = [\"qkv\", \"input\"], or leave padding out",
                    spec.padding)};
  const auto values = inputs.first(inputs.size() - static_cast<std::size_t>(tokens));
  if (values.size() > 2)
    return Misfit{fmt::format(
        "it takes one value (queries, keys and values) or two (queries; keys and values), not {}",
        values.size())};
  return values;
}

Misfit needs_qkv() {
  return {
      "it needs a [T, 3C] input, queries, keys and values side by side; make them by one linear "
      "layer"};
}

// T, S and C.
struct Sizes {
  std::int64_t queries, keys, width;
};

std::variant<Sizes, Misfit> sizes_of(const Attention& spec, std::span<const Shape> values) {
  const Shape &first = values[0], &last = values.back();
  if (values.size() == 1) {
    if (!is_rows(first) || first.dims[1] % 3 != 0) return needs_qkv();
    return Sizes{first.dims[0], first.dims[0], first.dims[1] / 3};
  }
  if (!is_rows(first) || !is_rows(last) || last.dims[1] != 2 * first.dims[1])
    return Misfit{
        "of two values it needs queries [T, C] and [S, 2C], keys and values side by side; make "
        "each by a linear layer, the second twice as wide as the first"};
  if (spec.causal)
    return Misfit{
        "causal = true is for the positions of one sequence, and these are two; leave causal out, "
        "or give it one [T, 3C] input"};
  return Sizes{first.dims[0], last.dims[0], first.dims[1]};
}

std::optional<Misfit> wrong_tokens(const Attention& spec, const Sizes& sizes, const Shape& tokens) {
  if (tokens.dims.size() != 1 || tokens.dims[0] != sizes.keys)
    return Misfit{fmt::format(
        "there are keys of {} positions, but {} tokens; name the tokens that the keys were made of",
        sizes.keys, tokens.elements())};
  if (spec.padding >= tokens.vocabulary)
    return Misfit{fmt::format(
        "padding = {} is none of the {} tokens (0 to {}); write the one that fills up sequences",
        spec.padding, tokens.vocabulary, tokens.vocabulary - 1)};
  return std::nullopt;
}

}  // namespace

std::variant<LayerFacts, Misfit> attention_rule(const Attention& spec,
                                                std::span<const Shape> inputs) {
  const auto values = values_of(spec, inputs);
  if (const auto* misfit = std::get_if<Misfit>(&values)) return *misfit;
  const auto found = sizes_of(spec, std::get<std::span<const Shape>>(values));
  if (const auto* misfit = std::get_if<Misfit>(&found)) return *misfit;
  const auto sizes = std::get<Sizes>(found);
  if (spec.padding >= 0)
    if (auto misfit = wrong_tokens(spec, sizes, inputs.back())) return *misfit;
  if (sizes.width % spec.heads != 0)
    return Misfit{fmt::format("its width of {} is not divisible by heads = {}; use a divisor",
                              sizes.width, spec.heads)};
  const double pairs =
      static_cast<double>(sizes.queries) * static_cast<double>(sizes.keys) / (spec.causal ? 2 : 1);
  const double flops = pairs * static_cast<double>(4 * sizes.width + 5 * spec.heads);
  LayerFacts facts;
  facts.output.dims = {sizes.queries, sizes.width};
  facts.flops = static_cast<std::int64_t>(std::min(flops, kMostFlops));
  return facts;
}

}  // namespace pipetrain
