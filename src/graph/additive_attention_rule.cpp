#include "graph/additive_attention_rule.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "graph/padding_rule.hpp"

namespace pipetrain {
namespace {

bool has_two_sides(const Shape& shape) { return shape.dims.size() == 2; }

}  // namespace

std::variant<LayerFacts, Misfit> additive_attention_rule(const AdditiveAttention& spec,
                                                         std::span<const Shape> inputs) {
  const auto found = values_before_tokens(
      spec.padding, inputs,
      {.whose = "the keys'", .with_tokens = R"(["q", "k", "values", "tokens"])"});
  if (const auto* misfit = std::get_if<Misfit>(&found)) return *misfit;
  const auto rows = std::get<std::span<const Shape>>(found);
  if (rows.size() != 3 || !std::ranges::all_of(rows, has_two_sides))
    return Misfit{
        "it needs queries [T, N], keys [S, N] and values [S, C]; write inputs = [\"q\", \"k\", "
        "\"values\"]"};
  const Shape &queries = rows[0], &keys = rows[1], &values = rows[2];
  if (queries.dims[1] != keys.dims[1])
    return Misfit{
        fmt::format("its queries are {} wide and its keys {}; make each with a linear layer of the "
                    "same out_features",
                    queries.dims[1], keys.dims[1])};
  if (keys.dims[0] != values.dims[0])
    return Misfit{fmt::format(
        "there are keys of {} positions, but values of {}; make both from the same sequence",
        keys.dims[0], values.dims[0])};
  if (spec.padding >= 0)
    if (auto misfit = wrong_tokens(spec.padding, inputs.back(), keys.dims[0], "keys"))
      return *misfit;
  const std::int64_t width = keys.dims[1];
  const double pairs = static_cast<double>(queries.dims[0]) * static_cast<double>(keys.dims[0]);
  const double flops = pairs * static_cast<double>(10 * width + 2 * values.dims[1] + 5);
  LayerFacts facts;
  facts.output.dims = {queries.dims[0], values.dims[1]};
  facts.flops = whole_flops(flops);
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  facts.parameters.push_back({"linear_att", {{width}}, Uniform{bound}});
  if (!spec.normalize) return facts;
  facts.parameters.push_back({"normalize_scalar", {{1}}, Constant{bound}});
  facts.parameters.push_back({"normalize_bias", {{width}}, Constant{0}});
  return facts;
}

}  // namespace pipetrain
