// A recipe while it is being written: steps that name buffers, whose places are worked out once it
// is known which steps use them.
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
  // Used apart from any step: before the first one, or after all that there are.
  void use_before(BufferId id) { use(id, 0); }
  void use_behind(BufferId id) { use(id, static_cast<int>(drafts_.size())); }
  // What a weight half that runs later reads must outlive the pass.
  void keep_in_slot(BufferId id);

  void add(Draft draft);
  // Exactly `bytes`: after an input in the loader's memory there may be nothing.
  void add_copy(BufferId from, BufferId to, std::size_t bytes);
  void add_sum(ValueId value, BufferId into, BufferId from);
  std::size_t steps() const { return drafts_.size(); }

  // A pass is whole: its workspace buffers get their offsets. Returns its steps and the bytes that
  // its workspace takes; the next pass begins without steps and reuses the workspace.
  struct Pass {
    std::vector<Draft> drafts;
    std::size_t workspace_bytes = 0;
  };
  Pass end_pass();

  // All passes are whole: the buffers in an area of slots, side by side. Returns the area's bytes.
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
