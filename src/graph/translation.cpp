#include "graph/translation.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <concepts>
#include <optional>

#include "base/check.hpp"
#include "base/error.hpp"
#include "graph/lengths.hpp"

namespace pipetrain {
namespace {

bool is_of(const std::vector<bool>& target, ValueId value) {
  return target[static_cast<std::size_t>(value.value)];
}

// Attention to the source alone: its queries are of the target, each by itself.
bool attends_to_source(const Layer& layer, const std::vector<bool>& target) {
  if (!std::holds_alternative<Attention>(layer.spec) &&
      !std::holds_alternative<AdditiveAttention>(layer.spec))
    return false;
  return layer.inputs.size() > 1 &&
         std::ranges::none_of(layer.inputs.begin() + 1, layer.inputs.end(),
                              [&](ValueId v) { return is_of(target, v); });
}

// A kernel of one position cannot tell padding inside a sequence, which counts, from that behind
// it.
bool carries_state(const Layer& layer) {
  const auto* lstm = std::get_if<Lstm>(&layer.spec);
  return lstm && lstm->padding < 0;
}

// Does an output's position depend on that position of the target alone, beside a state, and not on
// which it is?
bool takes_positions_apart(const Layer& layer, const std::vector<bool>& target) {
  const bool apart = std::visit(
      []<class Spec>(const Spec&) {
        return std::same_as<Spec, Linear> || std::same_as<Spec, Relu> ||
               std::same_as<Spec, Dropout> || std::same_as<Spec, Add> ||
               std::same_as<Spec, Identity> || std::same_as<Spec, LayerNorm> ||
               std::same_as<Spec, Gelu> || std::same_as<Spec, Embedding> ||
               std::same_as<Spec, Concat> || std::same_as<Spec, Narrow>;
      },
      layer.spec);
  return apart || attends_to_source(layer, target) || carries_state(layer);
}

// Which input, if any, does a position of the layer's output see all positions of?
std::optional<ValueId> seen_whole(const Layer& layer) {
  if (const auto* attention = std::get_if<Attention>(&layer.spec); attention && !attention->causal)
    return layer.inputs[layer.inputs.size() - (attention->padding >= 0 ? 2 : 1)];
  if (std::holds_alternative<AdditiveAttention>(layer.spec)) return layer.inputs[2];
  if (const auto* lstm = std::get_if<Lstm>(&layer.spec);
      lstm && (lstm->reverse || lstm->bidirectional))
    return layer.inputs[0];
  return std::nullopt;
}

// Of the target, positions at or before an output's own only.
void require_causal(const Layer& layer, const std::vector<bool>& target) {
  const auto seen = seen_whole(layer);
  if (!seen || !is_of(target, *seen)) return;
  throw UsageError(fmt::format(
      "the layer '{}' reads tokens of the target behind a position, so the model cannot say what "
      "comes next; let it read those before alone (attention: causal = true; lstm: neither reverse "
      "nor bidirectional) and train it so",
      layer.name));
}

// One row for each position, which is what is kept of a prefix.
void require_positions(const Graph& graph, const Layer& layer) {
  if (!layer.output.dims.empty() && layer.output.dims[0] == graph.target_tokens) return;
  throw UsageError(fmt::format(
      "the layer '{}' makes {} of the target's {} positions, so a translation cannot take them one "
      "by one; let every layer behind the target give something for each position",
      layer.name, layer.output.text(), graph.target_tokens));
}

// What reads both sides as one value cannot be given the source alone.
void require_sides(const Graph& graph) {
  for (std::size_t l = side_layers; l < graph.layers.size(); ++l)
    if (std::ranges::count(graph.layers[l].inputs, ValueId{0}) > 0)
      throw UsageError(
          fmt::format("the layer '{}' reads source and target as one input, so a translation "
                      "cannot read the source alone; write inputs = [\"source\"] or [\"target\"]",
                      graph.layers[l].name));
}

}  // namespace

std::vector<bool> made_of_target(const Graph& graph) {
  std::vector<bool> made(graph.layers.size() + 1, false);
  if (graph.target_tokens == 0) return made;
  made[static_cast<std::size_t>(target_value.value)] = true;
  for (std::size_t l = side_layers; l < graph.layers.size(); ++l)
    made[l + 1] =
        std::ranges::any_of(graph.layers[l].inputs, [&](ValueId v) { return is_of(made, v); });
  return made;
}

std::vector<Needs> needs_to_translate(const Graph& graph) {
  if (graph.target_tokens == 0)
    throw UsageError(fmt::format(
        "a translation needs a model of two sides, but this one's input is {}; name one with input "
        "= {{ source = S, target = T, vocabulary = V }}",
        graph.input.text()));
  const std::vector<bool> target = made_of_target(graph);
  const Shape& output = graph.layers.back().output;
  if (output.dims != std::vector{graph.target_tokens, graph.input.vocabulary})
    throw UsageError(fmt::format(
        "a translation needs a score of each of {} tokens at each of the target's {} positions, "
        "but the model's output has shape {}; end it in a linear layer of {} out_features",
        graph.input.vocabulary, graph.target_tokens, output.text(), graph.input.vocabulary));
  require_sides(graph);
  PIPETRAIN_CHECK(target.back(), "'{}' is made of the source alone", graph.layers.back().name);
  std::vector<Needs> needs;
  for (std::size_t l = 0; l < graph.layers.size(); ++l) {
    const Layer& layer = graph.layers[l];
    if (!target[l + 1]) {
      needs.push_back(Needs::Source);
      continue;
    }
    require_causal(layer, target);
    require_positions(graph, layer);
    needs.push_back(takes_positions_apart(layer, target) ? Needs::Position : Needs::Prefix);
  }
  (void)with_lengths(graph, {lengths_of(graph).source, 1});
  return needs;
}

}  // namespace pipetrain
