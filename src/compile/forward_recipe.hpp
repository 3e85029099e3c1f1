// The forward pass of a recipe: where the values of a stage are, one kernel call after the other.
#pragma once

#include <optional>
#include <vector>

#include "base/indexed.hpp"
#include "compile/recipe_draft.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

// The layers of a recipe's stage, counted from 0.
class RecipeLayers {
 public:
  explicit RecipeLayers(const RecipeInput& input) : in_(input) {}

  bool at_begin() const { return in_.first.value == 0; }
  bool at_end() const { return in_.last.value + 1 == static_cast<int>(in_.graph.layers.size()); }
  int count() const { return in_.last.value - in_.first.value + 1; }
  const Layer& operator[](int l) const { return in_.graph.layers[in_.first.value + l]; }
  const KernelTraits& traits(int l) const { return in_.kernels[l]->traits(); }
  ValueId output_of(int l) const { return Graph::output_of({in_.first.value + l}); }
  std::size_t bytes(ValueId value) const { return in_.lowering.value_bytes(value, in_.samples); }

 private:
  const RecipeInput& in_;
};

struct ForwardRecipe {
  RecipeDraft::Pass pass;
  Indexed<std::optional<BufferId>, ValueId> storage;  // of the values that are made or received
  Indexed<std::optional<BufferId>> saved;             // of each layer
  std::vector<bool> remade;                           // layers that run again: value_uses.hpp
  Indexed<int, ValueId> maker;     // of those values' memory: the layer; -1: another stage, or none
  PacketLayout out;                // what leaves for the next stage
  std::optional<BufferId> input;   // where the graph's input is loaded, if it is
  std::optional<BufferId> output;  // last stage: what the loss reads

  BufferId storage_of(ValueId value) const;  // checked: made or received before it is read
};

// `trained`: the values that have a gradient (graph.hpp's trained_values).
ForwardRecipe write_forward(const RecipeInput& input, const Indexed<bool, ValueId>& trained,
                            RecipeDraft& draft);

}  // namespace pipetrain
