#include "graph/attention_rule.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "graph/padding_rule.hpp"

namespace pipetrain {
namespace {

bool is_rows(const Shape& shape) { return shape.vocabulary == 0 && shape.dims.size() == 2; }

// The inputs that come before the tokens, or why these inputs do not fit.
std::variant<std::span<const Shape>, Misfit> values_of(const Attention& spec,
                                                       std::span<const Shape> inputs) {
  const auto found = values_before_tokens(
      spec.padding, inputs,
      {.whose = "the keys'", .with_tokens = R"(["qkv", "tokens"] or ["q", "kv", "tokens"])"});
  const auto* values = std::get_if<std::span<const Shape>>(&found);
  if (values && values->size() > 2)
    return Misfit{fmt::format(
        "it takes one value (queries, keys and values) or two (queries; keys and values), not {}",
        values->size())};
  return found;
}

Misfit needs_qkv() {
  return {
      "it needs a [T, 3C] input, queries, keys and values side by side; make them with one linear "
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
        "with two values it needs queries [T, C] and [S, 2C], keys and values side by side; make "
        "each with a linear layer, the second twice as wide as the first"};
  if (spec.causal)
    return Misfit{
        "causal = true is for the positions of one sequence, but these are two; leave causal out, "
        "or give it one [T, 3C] input"};
  return Sizes{first.dims[0], last.dims[0], first.dims[1]};
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
    if (auto misfit = wrong_tokens(spec.padding, inputs.back(), sizes.keys, "keys")) return *misfit;
  if (sizes.width % spec.heads != 0)
    return Misfit{fmt::format("its width of {} is not divisible by heads = {}; use a divisor",
                              sizes.width, spec.heads)};
  const double pairs =
      static_cast<double>(sizes.queries) * static_cast<double>(sizes.keys) / (spec.causal ? 2 : 1);
  const double flops = pairs * static_cast<double>(4 * sizes.width + 5 * spec.heads);
  LayerFacts facts;
  facts.output.dims = {sizes.queries, sizes.width};
  facts.flops = whole_flops(flops);
  return facts;
}

}  // namespace pipetrain
