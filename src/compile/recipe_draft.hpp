// A recipe while it is written: its steps name buffers, and buffers get their places once it is
// known which steps use them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compile/recipe.hpp"
#include "compile/workspace.hpp"

namespace pipetrain {

using BufferId = std::size_t;

// A step with buffers instead of places.
struct Draft {
  Step step;
  std::vector<std::optional<BufferId>> inputs, input_gradients;
  std::optional<BufferId> output, output_gradient, saved;
};

class RecipeDraft {
 public:
  BufferId new_buffer(Area area, std::size_t bytes, std::size_t offset = 0);
  const Block& buffer(BufferId id) const { return buffers_[id]; }
  // Uses outside of any step: before the first one, or after all the steps so far.
  void use_before(BufferId id) { use(id, 0); }
  void use_behind(BufferId id) { use(id, static_cast<int>(drafts_.size())); }
  // For what a later weight half reads: it must outlive the pass.
  void keep_in_slot(BufferId id);

  void add(Draft draft);
  // Copies exactly `bytes`: an input in the loader's memory may have nothing after it.
  void add_copy(BufferId from, BufferId to, std::size_t bytes);
  void add_sum(ValueId value, BufferId into, BufferId from);
  std::size_t steps() const { return drafts_.size(); }

  // Completes a pass: its workspace buffers get their offsets. Returns its steps and the bytes that
  // its workspace takes; the next pass begins without steps and reuses the workspace.
  struct Pass {
    std::vector<Draft> drafts;
    std::size_t workspace_bytes = 0;
  };
  Pass end_pass();

  // Once all passes are complete: puts the buffers of a slot area side by side. Returns its bytes.
  std::size_t place_slots(Area area);
  Place place(BufferId id) const { return {buffers_[id].area, buffers_[id].offset}; }
  Place place(const std::optional<BufferId>& id) const { return id ? place(*id) : Place{}; }
  std::vector<Step> resolve(const std::vector<Draft>& drafts) const;

 private:
  void use(BufferId id, int step);

  std::vector<Block> buffers_;
  std::vector<Draft> drafts_;    // of the pass that is being written
  std::size_t pass_begins_ = 0;  // its first buffer
};

}  // namespace pipetrain
