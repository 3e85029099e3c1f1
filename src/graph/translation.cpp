#include "graph/translation.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"

namespace pipetrain {
namespace {

constexpr int sides = 2;  // the layers that cut the input in two come first (graph/build.cpp)

// Does an output's position depend on that position of the inputs alone, and not on which it is?
bool takes_positions_apart(const LayerSpec& spec) {
  return std::visit(
      []<class Spec>(const Spec&) {
        return std::same_as<Spec, Linear> || std::same_as<Spec, Relu> ||
               std::same_as<Spec, Dropout> || std::same_as<Spec, Add> ||
               std::same_as<Spec, Identity> || std::same_as<Spec, LayerNorm> ||
               std::same_as<Spec, Gelu> || std::same_as<Spec, Embedding> ||
               std::same_as<Spec, Concat>;
      },
      spec);
}

bool is_of(const std::vector<bool>& target, ValueId value) {
  return target[static_cast<std::size_t>(value.value)];
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

}  // namespace

std::vector<bool> made_of_target(const Graph& graph) {
  std::vector<bool> made(graph.layers.size() + 1, false);
  if (graph.target_tokens == 0) return made;
  made[static_cast<std::size_t>(sides)] = true;
  for (std::size_t l = sides; l < graph.layers.size(); ++l)
    made[l + 1] =
        std::ranges::any_of(graph.layers[l].inputs, [&](ValueId v) { return is_of(made, v); });
  return made;
}

TranslationParts translation_parts(const Graph& graph) {
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
  TranslationParts parts{{static_cast<int>(graph.layers.size())}, {sides}};
  for (int l = static_cast<int>(graph.layers.size()) - 1; l >= sides; --l)
    if (target[static_cast<std::size_t>(l) + 1]) parts.decoder = {l};
  for (int l = sides; l < static_cast<int>(graph.layers.size()); ++l) {
    const Layer& layer = graph.layers[static_cast<std::size_t>(l)];
    require_causal(layer, target);
    const bool of_target_alone =
        std::ranges::all_of(layer.inputs, [&](ValueId v) { return is_of(target, v); });
    if (!takes_positions_apart(layer.spec) || !of_target_alone) parts.head = {l + 1};
  }
  parts.head = std::max(parts.head, LayerId{parts.decoder.value + 1});
  if (parts.head.value == static_cast<int>(graph.layers.size()))
    throw UsageError(fmt::format(
        "a translation is read from a layer that takes each position for itself, but the model "
        "ends in '{}'; end it in a linear layer",
        graph.layers.back().name));
  return parts;
}

}  // namespace pipetrain
