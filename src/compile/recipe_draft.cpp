#include "compile/recipe_draft.hpp"

#include <algorithm>
#include <utility>

#include "base/cache_line.hpp"

namespace pipetrain {

BufferId RecipeDraft::new_buffer(Area area, std::size_t bytes, std::size_t offset) {
  buffers_.push_back({area, whole_lines(bytes), offset, -1, -1});
  return buffers_.size() - 1;
}

void RecipeDraft::use(BufferId id, int step) {
  Block& buffer = buffers_[id];
  if (buffer.first_use < 0) buffer.first_use = step;
  buffer.last_use = std::max(buffer.last_use, step);
}

void RecipeDraft::keep_in_slot(BufferId id) {
  if (buffers_[id].area == Area::Workspace) buffers_[id].area = Area::Slot;
}

void RecipeDraft::add(Draft draft) {
  for (const auto* list : {&draft.inputs, &draft.input_gradients})
    for (const auto& b : *list)
      if (b) use_behind(*b);
  for (const auto& b : {draft.output, draft.output_gradient, draft.saved})
    if (b) use_behind(*b);
  drafts_.push_back(std::move(draft));
}

void RecipeDraft::add_copy(BufferId from, BufferId to, std::size_t bytes) {
  Draft draft;
  draft.step.kind = Step::Kind::Copy;
  draft.step.bytes = bytes;
  draft.inputs = {from};
  draft.output = to;
  add(std::move(draft));
}

void RecipeDraft::add_sum(ValueId value, BufferId into, BufferId from) {
  Draft draft;
  draft.step.kind = Step::Kind::Add;
  draft.step.value = value;
  draft.inputs = {from};
  draft.output = into;
  add(std::move(draft));
}

RecipeDraft::Pass RecipeDraft::end_pass() {
  const std::size_t bytes = place_workspace(buffers_, pass_begins_);
  pass_begins_ = buffers_.size();
  return {std::exchange(drafts_, {}), bytes};
}

std::size_t RecipeDraft::place_slots(Area area) {
  std::size_t end = 0;
  for (Block& buffer : buffers_) {
    if (buffer.area != area) continue;
    buffer.offset = end;
    end += buffer.bytes;
  }
  return end;
}

std::vector<Step> RecipeDraft::resolve(const std::vector<Draft>& drafts) const {
  std::vector<Step> steps;
  for (const Draft& draft : drafts) {
    Step step = draft.step;
    for (const auto& b : draft.inputs) step.inputs.push_back(place(b));
    for (const auto& b : draft.input_gradients) step.input_gradients.push_back(place(b));
    step.output = place(draft.output);
    step.output_gradient = place(draft.output_gradient);
    step.saved = place(draft.saved);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace pipetrain
