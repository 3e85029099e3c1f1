// Which bytes of a stage's workspace each buffer gets: buffers that are never alive together share.
#pragma once

#include <cstddef>
#include <vector>

#include "compile/recipe.hpp"

namespace pipetrain {

// A piece of memory while a recipe is written; it gets its offset once its lifetime is known.
struct Block {
  Area area = Area::Workspace;
  std::size_t bytes = 0, offset = 0;
  int first_use = -1, last_use = -1;  // steps of the pass, Workspace only
};

// First fit by lifetime, for the workspace buffers from index `from` on. Returns the bytes taken.
std::size_t place_workspace(std::vector<Block>& buffers, std::size_t from);

}  // namespace pipetrain
