#include "compile/recipe.hpp"

#include <algorithm>
#include <optional>

#include "base/cache_line.hpp"
#include "base/check.hpp"
#include "compile/workspace.hpp"

namespace pipetrain {
namespace {

using BufferId = std::size_t;

// The gradient of one value while its readers are visited from the last to the first.
struct GradientState {
  enum { None, Borrowed, Owned } kind = None;  // Borrowed: another buffer that must not be changed
  BufferId buffer = 0;
};

// A step with buffer names instead of places.
struct Draft {
  Step step;
  std::vector<std::optional<BufferId>> inputs, input_gradients;
  std::optional<BufferId> output, output_gradient, saved;
};

class Writer {
 public:
  explicit Writer(const RecipeInput& input)
      : in_(input),
        needed_(needs_gradient(input.graph)),
        storage_(input.graph.layers.size() + 1),
        gradients_(input.graph.layers.size() + 1),
        destinations_(input.graph.layers.size() + 1) {}

  Recipe write() {
    enter();
    forward();
    leave();
    Recipe recipe;
    if (is_last()) {
      const BufferId output = storage(in_.graph.output_of(in_.last));
      touch(output, static_cast<int>(drafts_.size()));  // the loss reads it behind the last step
      output_ = output;
    }
    recipe.workspace_bytes = place_workspace(buffers_, 0);
    std::vector<Draft> forward_drafts = std::move(drafts_);
    drafts_.clear();
    if (in_.mode == Mode::Train) {
      const std::size_t from = buffers_.size();
      backward();
      recipe.workspace_bytes = std::max(recipe.workspace_bytes, place_workspace(buffers_, from));
    }
    place_slots(recipe);
    recipe.forward = resolve(forward_drafts);
    recipe.backward = resolve(drafts_);
    recipe.head = head_;
    if (input_) recipe.input = place(*input_);
    if (output_) recipe.output = place(*output_);
    if (loss_gradient_) recipe.loss_gradient = place(*loss_gradient_);
    for (const auto& kernel : in_.kernels)
      recipe.scratch_bytes = std::max(recipe.scratch_bytes, kernel->traits().scratch_bytes);
    return recipe;
  }

 private:
  bool is_first() const { return in_.first.value == 0; }
  bool is_last() const { return in_.last.value + 1 == static_cast<int>(in_.graph.layers.size()); }
  const Layer& layer(int l) const {
    return in_.graph.layers[static_cast<std::size_t>(in_.first.value + l)];
  }
  const KernelTraits& traits(int l) const {
    return in_.kernels[static_cast<std::size_t>(l)]->traits();
  }
  ValueId output_of(int l) const { return Graph::output_of({in_.first.value + l}); }
  int layers() const { return in_.last.value - in_.first.value + 1; }
  bool needs(ValueId value) const { return needed_[static_cast<std::size_t>(value.value)]; }
  std::size_t bytes(ValueId value) const {
    return whole_lines(in_.lowering.value_bytes(value, in_.samples));
  }
  std::optional<BufferId>& slot_of(std::vector<std::optional<BufferId>>& table, ValueId value) {
    return table[static_cast<std::size_t>(value.value)];
  }
  BufferId storage(ValueId value) {
    const auto& buffer = slot_of(storage_, value);
    PIPETRAIN_CHECK(buffer, "value {} is read before it is made or received", value.value);
    return *buffer;
  }

  BufferId new_buffer(Area area, std::size_t size, std::size_t offset = 0) {
    buffers_.push_back({area, whole_lines(size), offset, -1, -1});
    return buffers_.size() - 1;
  }
  void touch(BufferId id, int step) {
    Block& buffer = buffers_[id];
    if (buffer.first_use < 0) buffer.first_use = step;
    buffer.last_use = std::max(buffer.last_use, step);
  }
  void add(Draft draft) {
    const int step = static_cast<int>(drafts_.size());
    for (const auto& b : draft.inputs)
      if (b) touch(*b, step);
    for (const auto& b : draft.input_gradients)
      if (b) touch(*b, step);
    for (const auto& b : {draft.output, draft.output_gradient, draft.saved})
      if (b) touch(*b, step);
    drafts_.push_back(std::move(draft));
  }
  // Exactly the value: behind an input in the loader's memory there may be nothing.
  void add_copy(BufferId from, BufferId to, ValueId value) {
    Draft draft;
    draft.step.kind = Step::Kind::Copy;
    draft.step.bytes = in_.lowering.value_bytes(value, in_.samples);
    draft.inputs = {from};
    draft.output = to;
    add(std::move(draft));
  }

  // ---- forward
  void enter() {
    if (is_first()) {
      if (in_.lowering.reads_plain_input()) {
        slot_of(storage_, {0}) = new_buffer(Area::Input, bytes({0}));
        return;
      }
      // The graph's input, loaded into the slot where a backward reads it.
      const Area kept = in_.recomputes ? Area::InputSlot : Area::Slot;
      input_ = new_buffer(in_.mode == Mode::Train ? kept : Area::Workspace, bytes({0}));
      touch(*input_, 0);
      slot_of(storage_, {0}) = input_;
      return;
    }
    const PacketLayout packet = activation_packet(in_.graph, in_.lowering, in_.first, in_.samples);
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      slot_of(storage_, packet.values[i]) =
          new_buffer(Area::PacketIn, bytes(packet.values[i]), packet.offsets[i]);
  }

  // Where the value that layer l makes shall lie, for it and for all that alias it.
  BufferId make_storage(int l) {
    bool kept = false;
    std::optional<std::size_t> leaving;
    for (int reader = l; reader < layers(); ++reader) {
      if (root(output_of(reader)) != root(output_of(l))) continue;
      kept = kept || kept_for_backward(output_of(reader));
      for (std::size_t i = 0; i < out_.values.size() && !leaving; ++i)
        if (out_.values[i] == output_of(reader)) leaving = out_.offsets[i];
    }
    const std::size_t size = bytes(output_of(l));
    if (leaving) return new_buffer(Area::PacketOut, size, *leaving);
    return new_buffer(kept && in_.mode == Mode::Train ? Area::Slot : Area::Workspace, size);
  }

  ValueId root(ValueId value) const {
    while (value.value > in_.first.value) {
      const int l = value.value - 1 - in_.first.value;
      if (!traits(l).aliases_input) break;
      value = layer(l).inputs[0];
    }
    return value;
  }

  bool kept_for_backward(ValueId value) const {
    if (is_last() && value == in_.graph.output_of(in_.last)) return true;  // the loss's gradient
    for (int l = 0; l < layers(); ++l) {
      if (!needs(output_of(l))) continue;
      const KernelTraits& t = traits(l);
      if (output_of(l) == value && t.backward_input_reads_output) return true;
      const bool reads = t.backward_input_reads_inputs ||
                         (t.backward_weight_reads_inputs && !layer(l).parameters.empty());
      for (const ValueId input : layer(l).inputs)
        if (input == value && reads) return true;
    }
    return false;
  }

  void forward() {
    if (!is_last())
      out_ = activation_packet(in_.graph, in_.lowering, {in_.last.value + 1}, in_.samples);
    for (int l = 0; l < layers(); ++l) {
      const KernelTraits& t = traits(l);
      slot_of(storage_, output_of(l)) =
          t.aliases_input ? storage(layer(l).inputs[0]) : make_storage(l);
      Draft draft;
      draft.step.kind = Step::Kind::Forward;
      draft.step.layer = l;
      for (const ValueId input : layer(l).inputs) draft.inputs.push_back(storage(input));
      draft.output = storage(output_of(l));
      saved_.push_back(std::nullopt);
      if (t.saved_bytes > 0)
        saved_.back() =
            new_buffer(in_.mode == Mode::Train ? Area::Slot : Area::Workspace, t.saved_bytes);
      draft.saved = saved_.back();
      if (!t.aliases_input) add(std::move(draft));
    }
  }

  // Values that leave but lie elsewhere (passed through, or a second name of what leaves) are
  // copied.
  void leave() {
    for (std::size_t i = 0; i < out_.values.size(); ++i) {
      const BufferId from = storage(out_.values[i]);
      const Block& buffer = buffers_[from];
      if (buffer.area == Area::PacketOut && buffer.offset == out_.offsets[i]) continue;
      const BufferId to = new_buffer(Area::PacketOut, bytes(out_.values[i]), out_.offsets[i]);
      add_copy(from, to, out_.values[i]);
    }
  }

  // ---- backward
  void backward() {
    if (is_last()) {
      loss_gradient_ = new_buffer(Area::Workspace, bytes(in_.graph.output_of(in_.last)));
      touch(*loss_gradient_, 0);
      gradient(in_.graph.output_of(in_.last)) = {GradientState::Borrowed, *loss_gradient_};
    } else {
      const PacketLayout packet =
          gradient_packet(in_.graph, in_.lowering, {in_.last.value + 1}, in_.samples);
      for (std::size_t i = 0; i < packet.values.size(); ++i)
        gradient(packet.values[i]) = {
            GradientState::Borrowed,
            new_buffer(Area::GradientIn, bytes(packet.values[i]), packet.offsets[i])};
    }
    PacketLayout leaving;
    if (!is_first()) {
      leaving = gradient_packet(in_.graph, in_.lowering, in_.first, in_.samples);
      for (std::size_t i = 0; i < leaving.values.size(); ++i)
        slot_of(destinations_, leaving.values[i]) =
            new_buffer(Area::GradientOut, bytes(leaving.values[i]), leaving.offsets[i]);
    }
    for (int l = layers() - 1; l >= 0; --l)
      if (needs(output_of(l))) backward(l);
    for (const ValueId value : leaving.values) {
      const GradientState& state = gradient(value);
      PIPETRAIN_CHECK(state.kind != GradientState::None, "no gradient for value {}", value.value);
      if (state.kind == GradientState::Borrowed) add_copy(state.buffer, destination(value), value);
    }
    head_ = drafts_.size();
    if (tail_) add(std::move(*tail_));
  }

  // The weight half that nothing of the stage waits for: of its first layer with parameters.
  bool is_tail(int l) const {
    if (is_first()) return false;
    for (int below = 0; below < l; ++below)
      if (!layer(below).parameters.empty()) return false;
    return true;
  }

  GradientState& gradient(ValueId value) {
    return gradients_[static_cast<std::size_t>(value.value)];
  }
  BufferId destination(ValueId value) {
    auto& buffer = slot_of(destinations_, value);
    if (!buffer) buffer = new_buffer(Area::Workspace, bytes(value));
    return *buffer;
  }

  void backward(int l) {
    const GradientState& state = gradient(output_of(l));
    PIPETRAIN_CHECK(state.kind != GradientState::None, "layer '{}' gets no gradient",
                    layer(l).name);
    const BufferId output_gradient = state.buffer;
    Draft draft;
    draft.step.layer = l;
    for (const ValueId input : layer(l).inputs) draft.inputs.push_back(kept_storage(input));
    draft.output = kept_storage(output_of(l));
    draft.output_gradient = output_gradient;
    draft.saved = saved_[static_cast<std::size_t>(l)];
    const Draft weight = draft;
    if (traits(l).aliases_gradient) {
      for (const ValueId input : layer(l).inputs)
        if (needs(input)) borrow(input, output_gradient);
    } else {
      backward_input(l, std::move(draft));
    }
    if (!layer(l).parameters.empty()) backward_weight(weight);
  }

  // Behind the layer's input gradient, which reads the weights: these may be updated on the way.
  void backward_weight(Draft draft) {
    draft.step.kind = Step::Kind::BackwardWeight;
    const BufferId output_gradient = *draft.output_gradient;
    if (in_.split_backward && buffers_[output_gradient].area == Area::Workspace)
      buffers_[output_gradient].area = Area::Slot;
    if (is_tail(draft.step.layer))
      tail_ = std::move(draft);
    else
      add(std::move(draft));
  }

  // What forward left of a value: nothing where its memory has been reused.
  std::optional<BufferId> kept_storage(ValueId value) {
    const BufferId buffer = storage(value);
    if (buffers_[buffer].area == Area::Workspace) return std::nullopt;
    return buffer;
  }

  // A contribution that is another buffer's content.
  void borrow(ValueId value, BufferId from) {
    GradientState& state = gradient(value);
    if (state.kind == GradientState::None) {
      state = {GradientState::Borrowed, from};
      return;
    }
    if (state.kind == GradientState::Borrowed) {
      add_copy(state.buffer, destination(value), value);
      state = {GradientState::Owned, destination(value)};
    }
    add_sum(value, state.buffer, from);
  }

  // A contribution that a kernel computes: straight into place when it is the first of its own.
  void backward_input(int l, Draft draft) {
    draft.step.kind = Step::Kind::BackwardInput;
    struct Sum {
      ValueId value;
      BufferId into, from;
    };
    std::vector<Sum> sums;
    bool wanted = traits(l).backward_weight_needs_backward_input && !layer(l).parameters.empty();
    for (const ValueId input : layer(l).inputs) {
      draft.input_gradients.push_back(std::nullopt);
      if (!needs(input)) continue;
      wanted = true;
      GradientState& state = gradient(input);
      if (state.kind == GradientState::Owned) {
        const BufferId part = new_buffer(Area::Workspace, bytes(input));
        draft.input_gradients.back() = part;
        sums.push_back({input, state.buffer, part});
        continue;
      }
      draft.input_gradients.back() = destination(input);
      if (state.kind == GradientState::Borrowed)
        sums.push_back({input, destination(input), state.buffer});
      state = {GradientState::Owned, destination(input)};
    }
    if (wanted) add(std::move(draft));
    for (const Sum& sum : sums) add_sum(sum.value, sum.into, sum.from);
  }

  void add_sum(ValueId value, BufferId into, BufferId from) {
    Draft draft;
    draft.step.kind = Step::Kind::Add;
    draft.step.value = value;
    draft.inputs = {from};
    draft.output = into;
    add(std::move(draft));
  }

  // ---- places
  void place_slots(Recipe& recipe) {
    for (Block& buffer : buffers_) {
      if (buffer.area != Area::Slot && buffer.area != Area::InputSlot) continue;
      std::size_t& end = buffer.area == Area::Slot ? recipe.slot_bytes : recipe.input_slot_bytes;
      buffer.offset = end;
      end += buffer.bytes;
    }
    recipe.packet_out = recipe.slot_bytes;
    if (in_.recomputes && in_.mode == Mode::Train) recipe.slot_bytes += out_.bytes;
  }
  Place place(BufferId id) const { return {buffers_[id].area, buffers_[id].offset}; }
  Place place(const std::optional<BufferId>& id) const { return id ? place(*id) : Place{}; }

  std::vector<Step> resolve(const std::vector<Draft>& drafts) const {
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

  const RecipeInput& in_;
  const std::vector<bool> needed_;
  std::vector<Block> buffers_;
  std::vector<Draft> drafts_;
  std::vector<std::optional<BufferId>> storage_;  // of values, forward
  std::vector<std::optional<BufferId>> saved_;    // of layers
  std::vector<GradientState> gradients_;          // of values
  std::vector<std::optional<BufferId>> destinations_;
  PacketLayout out_;
  std::optional<Draft> tail_;
  std::size_t head_ = 0;
  std::optional<BufferId> input_, output_, loss_gradient_;
};

}  // namespace

Recipe make_recipe(const RecipeInput& input) { return Writer(input).write(); }

}  // namespace pipetrain
