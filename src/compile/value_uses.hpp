// What the values of a stage are needed for once the forward has read them, and which layers
// therefore run again in the backward (recompute = ["gelu"]).
#pragma once

#include <optional>
#include <vector>

#include "compile/forward_recipe.hpp"

namespace pipetrain {

// Refers to what it is made from. A value that is only another name of its layer's input
// (KernelTraits::aliases_input) has the memory of that one, its root.
class ValueUses {
 public:
  // `out`: what leaves for the next stage.
  ValueUses(const RecipeInput& input, const Indexed<bool, ValueId>& trained,
            const PacketLayout& out)
      : in_(input), layers_(input), trained_(trained), out_(out) {}

  ValueId root(ValueId value) const;
  // Under any of the root's names. The loss counts as a part of the backward.
  bool read_by_backward(ValueId root) const;
  // Where it leaves in the packet for the next stage; none if it does not.
  std::optional<std::size_t> leaves_at(ValueId root) const;

 private:
  bool read_under_this_name(ValueId value) const;

  const RecipeInput& in_;
  const RecipeLayers layers_;
  const Indexed<bool, ValueId>& trained_;
  const PacketLayout& out_;
};

// For each layer of the stage: is its output made again where the backward needs it, instead of
// being kept? That of a layer that RecipeInput::recomputed names, unless it is there anyway (in a
// packet, for the loss), or an input is gone by then: keeping that one instead would save nothing.
std::vector<bool> remade_layers(const RecipeInput& input, const ValueUses& uses);

}  // namespace pipetrain
