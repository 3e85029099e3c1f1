// The backward pass of a recipe: layers from the last to the first. The gradient of a value with
// several readers is their sum, in that order.
#pragma once

#include "compile/forward_recipe.hpp"

namespace pipetrain {

struct BackwardRecipe {
  RecipeDraft::Pass pass;
  std::size_t head = 0;                   // Recipe::head
  std::size_t leaving_bytes = 0;          // of the gradients for the previous stage
  std::optional<BufferId> loss_gradient;  // last stage: what the loss writes
};

BackwardRecipe write_backward(const RecipeInput& input, const Indexed<bool, ValueId>& trained,
                              const ForwardRecipe& forward, RecipeDraft& draft);

}  // namespace pipetrain
