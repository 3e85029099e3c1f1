#include "compile/value_uses.hpp"

#include <algorithm>

#include "graph/graph.hpp"

namespace pipetrain {

ValueId ValueUses::root(ValueId value) const {
  while (value.value > in_.first.value) {
    const int l = value.value - 1 - in_.first.value;
    if (!layers_.traits(l).aliases_input) break;
    value = layers_[l].inputs[0];
  }
  return value;
}

bool ValueUses::read_by_backward(ValueId of) const {
  if (read_under_this_name(of)) return true;
  for (int l = 0; l < layers_.count(); ++l)
    if (const ValueId value = layers_.output_of(l);
        root(value) == of && read_under_this_name(value))
      return true;
  return false;
}

std::optional<std::size_t> ValueUses::leaves_at(ValueId of) const {
  for (std::size_t i = 0; i < out_.values.size(); ++i)
    if (root(out_.values[i]) == of) return out_.offsets[i];
  return std::nullopt;
}

bool ValueUses::read_under_this_name(ValueId value) const {
  if (layers_.at_end() && value == in_.graph.output_of(in_.last)) return true;  // the loss's
  for (int l = 0; l < layers_.count(); ++l) {
    if (!trained_[layers_.output_of(l)]) continue;
    const KernelTraits& t = layers_.traits(l);
    if (layers_.output_of(l) == value && t.backward_input_reads_output) return true;
    const bool reads =
        t.backward_input_reads_inputs || (t.backward_weight_reads_inputs && layers_[l].trains());
    for (const ValueId input : layers_[l].inputs)
      if (input == value && reads) return true;
  }
  return false;
}

std::vector<bool> remade_layers(const RecipeInput& in, const ValueUses& uses) {
  const RecipeLayers layers(in);
  std::vector<bool> remade(static_cast<std::size_t>(layers.count()), false);
  if (!in.recomputed || in.mode != Mode::Train || in.split_backward) return remade;
  const auto is_there = [&](ValueId value) {
    const ValueId root = uses.root(value);
    const int maker = root.value - 1 - in.first.value;
    return maker < 0 || remade[static_cast<std::size_t>(maker)] || uses.leaves_at(root) ||
           uses.read_by_backward(root);
  };
  for (int l = 0; l < layers.count(); ++l) {
    const ValueId output = layers.output_of(l);
    const bool for_loss = layers.at_end() && uses.root(in.graph.output_of(in.last)) == output;
    remade[static_cast<std::size_t>(l)] =
        (*in.recomputed)[LayerId{in.first.value + l}] && !layers.traits(l).aliases_input &&
        !for_loss && !uses.leaves_at(output) && std::ranges::all_of(layers[l].inputs, is_there);
  }
  return remade;
}

}  // namespace pipetrain
