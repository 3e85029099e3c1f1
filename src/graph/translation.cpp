#include "graph/translation.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/lengths.hpp"
#include "graph/traits.hpp"

namespace pipetrain {
namespace {

bool is_of(const Indexed<bool, ValueId>& target, ValueId value) { return target[value]; }

// What a layer with an input of the target needs of it: the most that any of those inputs needs.
Needs needed(const Layer& layer, const Indexed<bool, ValueId>& target) {
  bool apart = true;
  for (int i = 0; i < std::ssize(layer.inputs); ++i)
    if (is_of(target, layer.inputs[i])) apart = apart && reach_of(layer, i) == Reach::Own;
  return apart || traits_of(layer.spec).carries_state ? Needs::Position : Needs::Prefix;
}

// Refuses a layer that reads positions of the target after an output's own.
void require_causal(const Layer& layer, const Indexed<bool, ValueId>& target) {
  for (int i = 0; i < std::ssize(layer.inputs); ++i)
    if (is_of(target, layer.inputs[i]) && reach_of(layer, i) == Reach::All)
      throw UsageError(
          fmt::format("the layer '{}' reads later tokens of the target, so the model cannot "
                      "predict the next one; let it read only earlier ones (attention: causal = "
                      "true; lstm: neither reverse nor bidirectional) and train the model again",
                      layer.name));
}

// Requires a row for each position: rows are what is kept of a prefix.
void require_positions(const Graph& graph, const Layer& layer) {
  if (!layer.output.dims.empty() && layer.output.dims[0] == graph.target_tokens) return;
  throw UsageError(fmt::format(
      "the layer '{}' makes {} of the target's {} positions, so a translation cannot take them one "
      "by one; let every layer after the target keep its positions",
      layer.name, layer.output.text(), graph.target_tokens));
}

// Refuses a layer that reads both sides as one value: it cannot be given the source alone.
void require_sides(const Graph& graph) {
  for (std::size_t l = side_layers; l < graph.layers.size(); ++l)
    if (std::ranges::count(graph.layers[l].inputs, ValueId{0}) > 0)
      throw UsageError(
          fmt::format("the layer '{}' reads source and target as one input, so a translation "
                      "cannot read the source alone; write inputs = [\"source\"] or [\"target\"]",
                      graph.layers[l].name));
}

}  // namespace

Indexed<bool, ValueId> made_of_target(const Graph& graph) {
  Indexed<bool, ValueId> made(graph.layers.size() + 1, false);
  if (graph.target_tokens == 0) return made;
  made[target_value] = true;
  for (std::size_t l = side_layers; l < graph.layers.size(); ++l)
    made[l + 1] =
        std::ranges::any_of(graph.layers[l].inputs, [&](ValueId v) { return is_of(made, v); });
  return made;
}

Indexed<Needs, LayerId> needs_to_translate(const Graph& graph) {
  if (graph.target_tokens == 0)
    throw UsageError(fmt::format(
        "a translation needs a model of two sides, but this one's input is {}; name one with input "
        "= {{ source = S, target = T, vocabulary = V }}",
        graph.input.text()));
  const Indexed<bool, ValueId> target = made_of_target(graph);
  const Shape& output = graph.layers.back().output;
  if (output.dims != std::vector{graph.target_tokens, graph.input.vocabulary})
    throw UsageError(fmt::format(
        "a translation needs a score of each of {} tokens at each of the target's {} positions, "
        "but the model's output has shape {}; end it in a linear layer of {} out_features",
        graph.input.vocabulary, graph.target_tokens, output.text(), graph.input.vocabulary));
  require_sides(graph);
  PIPETRAIN_CHECK(target.back(), "'{}' is made of the source alone", graph.layers.back().name);
  Indexed<Needs, LayerId> needs;
  for (std::size_t l = 0; l < graph.layers.size(); ++l) {
    const Layer& layer = graph.layers[l];
    if (!target[l + 1]) {
      needs.push_back(Needs::Source);
      continue;
    }
    require_positions(graph, layer);
    require_causal(layer, target);
    needs.push_back(needed(layer, target));
  }
  (void)with_lengths(graph, {lengths_of(graph).source, 1});
  return needs;
}

}  // namespace pipetrain
