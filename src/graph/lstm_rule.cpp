#include "graph/lstm_rule.hpp"

#include <algorithm>
#include <cmath>

#include "graph/layer.hpp"
#include "graph/padding_rule.hpp"

namespace pipetrain {
namespace {

constexpr double kGateFlops = 25;  // per state: three sigmoids, two tanh, biases, multiplications

void add_direction(const Lstm& spec, std::int64_t width, const std::string& suffix,
                   std::vector<Parameter>& parameters) {
  const std::int64_t hidden = spec.hidden_size, gates = 4 * hidden;
  const Initial initial = Uniform{1 / std::sqrt(static_cast<double>(hidden))};
  parameters.push_back({"weight_ih_l0" + suffix, {{gates, width}}, initial});
  parameters.push_back({"weight_hh_l0" + suffix, {{gates, hidden}}, initial});
  if (!spec.bias) return;
  parameters.push_back({"bias_ih_l0" + suffix, {{gates}}, initial});
  parameters.push_back({"bias_hh_l0" + suffix, {{gates}}, initial});
}

}  // namespace

std::variant<LayerFacts, Misfit> lstm_rule(const Lstm& spec, std::span<const Shape> inputs) {
  if (spec.reverse && spec.bidirectional)
    return Misfit{
        "reverse = true means one direction, and bidirectional = true both; leave one of them out"};
  const auto found = values_before_tokens(
      spec.padding, inputs, {.whose = "the sequence's", .with_tokens = R"(["x", "tokens"])"});
  if (const auto* misfit = std::get_if<Misfit>(&found)) return *misfit;
  const auto values = std::get<std::span<const Shape>>(found);
  if (values.size() > 1)
    return Misfit{
        "it takes one sequence [T, C], and then its tokens; join sequences with a concat or add "
        "layer before it"};
  if (values[0].dims.size() != 2)
    return Misfit{
        "it needs a [T, C] input: a sequence of vectors, as an embedding layer makes them"};
  const std::int64_t length = values[0].dims[0], width = values[0].dims[1];
  if (spec.padding >= 0)
    if (auto misfit = wrong_tokens(spec.padding, inputs.back(), length, "vectors")) return *misfit;
  const std::int64_t directions = spec.bidirectional ? 2 : 1;
  const auto hidden = static_cast<double>(spec.hidden_size);
  const double flops = static_cast<double>(directions * length) * hidden *
                       (8 * (static_cast<double>(width) + hidden) + kGateFlops);
  LayerFacts facts;
  facts.output.dims = {length, directions * spec.hidden_size};
  facts.flops = whole_flops(flops);
  add_direction(spec, width, "", facts.parameters);
  if (spec.bidirectional) add_direction(spec, width, "_reverse", facts.parameters);
  return facts;
}

}  // namespace pipetrain
