#include "compile/recipe.hpp"

#include <algorithm>

#include "compile/backward_recipe.hpp"
#include "compile/forward_recipe.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

// Places are found last: a backward may still decide to keep what a forward or it made itself.
Recipe make_recipe(const RecipeInput& input) {
  const Indexed<bool, ValueId> trained = trained_values(input.graph);
  const bool trains = input.mode == Mode::Train;
  RecipeDraft draft;
  const ForwardRecipe forward = write_forward(input, trained, draft);
  const BackwardRecipe backward =
      trains ? write_backward(input, trained, forward, draft) : BackwardRecipe();

  Recipe recipe;
  recipe.workspace_bytes = std::max(forward.pass.workspace_bytes, backward.pass.workspace_bytes);
  recipe.slot_bytes = recipe.packet_out = draft.place_slots(Area::Slot);
  recipe.input_slot_bytes = draft.place_slots(Area::InputSlot);
  if (input.recomputes && trains) recipe.slot_bytes += forward.out.bytes;
  recipe.sent_activations = forward.out.bytes;
  recipe.sent_gradients = backward.leaving_bytes;
  recipe.forward = draft.resolve(forward.pass.drafts);
  recipe.backward = draft.resolve(backward.pass.drafts);
  recipe.head = backward.head;
  recipe.input = draft.place(forward.input);
  recipe.output = draft.place(forward.output);
  recipe.loss_gradient = draft.place(backward.loss_gradient);
  for (const auto& kernel : input.kernels)
    recipe.scratch_bytes = std::max(recipe.scratch_bytes, kernel->traits().scratch_bytes);
  return recipe;
}

}  // namespace pipetrain
