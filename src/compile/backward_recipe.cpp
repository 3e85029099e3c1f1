#include "compile/backward_recipe.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

// The gradient of one value while its readers are visited from the last to the first.
struct GradientState {
  enum { None, Borrowed, Owned } kind = None;  // Borrowed: another buffer that must not be changed
  BufferId buffer = 0;
};

class BackwardWriter {
 public:
  BackwardWriter(const RecipeInput& input, const Indexed<bool, ValueId>& trained,
                 const ForwardRecipe& forward, RecipeDraft& draft)
      : in_(input),
        layers_(input),
        trained_(trained),
        forward_(forward),
        draft_(draft),
        gradients_(forward.storage.size()),
        destinations_(forward.storage.size()),
        remade_(forward.saved.size()) {}

  BackwardRecipe write() {
    if (layers_.at_end())
      enter_from_loss();
    else
      enter_from_stage();
    const PacketLayout leaving = leaving_gradients();
    made_.leaving_bytes = leaving.bytes;
    for (int l = layers_.count() - 1; l >= 0; --l)
      if (trained_[layers_.output_of(l)]) call(l);
    leave(leaving);
    made_.head = draft_.steps();
    if (tail_) draft_.add(std::move(*tail_));
    made_.pass = draft_.end_pass();
    return std::move(made_);
  }

 private:
  void enter_from_loss() {
    const ValueId output = in_.graph.output_of(in_.last);
    made_.loss_gradient = draft_.new_buffer(Area::Workspace, layers_.bytes(output));
    draft_.use_before(*made_.loss_gradient);
    gradients_[output] = {GradientState::Borrowed, *made_.loss_gradient};
  }

  void enter_from_stage() {
    const PacketLayout packet =
        gradient_packet(in_.graph, in_.lowering, {in_.last.value + 1}, in_.samples);
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      gradients_[packet.values[i]] = {
          GradientState::Borrowed,
          draft_.new_buffer(Area::GradientIn, layers_.bytes(packet.values[i]), packet.offsets[i])};
  }

  PacketLayout leaving_gradients() {
    if (layers_.at_begin()) return {};
    const PacketLayout leaving = gradient_packet(in_.graph, in_.lowering, in_.first, in_.samples);
    for (std::size_t i = 0; i < leaving.values.size(); ++i)
      destinations_[leaving.values[i]] = draft_.new_buffer(
          Area::GradientOut, layers_.bytes(leaving.values[i]), leaving.offsets[i]);
    return leaving;
  }

  void leave(const PacketLayout& leaving) {
    for (const ValueId value : leaving.values) {
      const GradientState& state = gradients_[value];
      PIPETRAIN_CHECK(state.kind != GradientState::None, "no gradient for value {}", value.value);
      if (state.kind == GradientState::Borrowed)
        draft_.add_copy(state.buffer, destination(value), layers_.bytes(value));
    }
  }

  BufferId destination(ValueId value) {
    auto& buffer = destinations_[value];
    if (!buffer) buffer = draft_.new_buffer(Area::Workspace, layers_.bytes(value));
    return *buffer;
  }

  void call(int l) {
    const GradientState& state = gradients_[layers_.output_of(l)];
    PIPETRAIN_CHECK(state.kind != GradientState::None, "layer '{}' gets no gradient",
                    layers_[l].name);
    const BufferId output_gradient = state.buffer;
    const KernelTraits& traits = layers_.traits(l);
    const bool reads_inputs = (traits.backward_input_reads_inputs && wants_input_gradient(l)) ||
                              (traits.backward_weight_reads_inputs && layers_[l].trains());
    Draft draft;
    draft.step.layer = l;
    for (const ValueId input : layers_[l].inputs)
      draft.inputs.push_back(storage(input, reads_inputs));
    draft.output = storage(layers_.output_of(l), traits.backward_input_reads_output);
    draft.output_gradient = output_gradient;
    draft.saved = forward_.saved[l] && forward_.remade[static_cast<std::size_t>(l)]
                      ? remake(l).saved
                      : forward_.saved[l];
    const Draft weight = draft;
    if (layers_.traits(l).aliases_gradient) {
      for (const ValueId input : layers_[l].inputs)
        if (trained_[input]) borrow(input, output_gradient);
    } else {
      backward_input(l, std::move(draft));
    }
    if (layers_[l].trains()) backward_weight(weight);
  }

  // What the forward left of a value or, if that is `read` and the memory has been reused, what its
  // layer makes of it again.
  std::optional<BufferId> storage(ValueId value, bool read) {
    const BufferId buffer = forward_.storage_of(value);
    if (draft_.buffer(buffer).area != Area::Workspace) return buffer;
    const int maker = forward_.maker[value];
    if (!read || maker < 0 || !forward_.remade[static_cast<std::size_t>(maker)])
      return std::nullopt;
    return remake(maker).output;
  }

  struct Remade {
    BufferId output = 0;
    std::optional<BufferId> saved;
  };

  // Runs layer l forward again, once.
  const Remade& remake(int l) {
    std::optional<Remade>& remade = remade_[l];
    if (remade) return *remade;
    Draft draft;
    draft.step.kind = Step::Kind::Forward;
    draft.step.layer = l;
    for (const ValueId input : layers_[l].inputs) draft.inputs.push_back(storage(input, true));
    remade.emplace().output =
        draft_.new_buffer(Area::Workspace, layers_.bytes(layers_.output_of(l)));
    if (forward_.saved[l])
      remade->saved = draft_.new_buffer(Area::Workspace, layers_.traits(l).saved_bytes);
    draft.output = remade->output;
    draft.saved = remade->saved;
    draft_.add(std::move(draft));
    return *remade;
  }

  bool wants_input_gradient(int l) const {
    return (layers_.traits(l).backward_weight_needs_backward_input && layers_[l].trains()) ||
           std::ranges::any_of(layers_[l].inputs, [&](ValueId input) { return trained_[input]; });
  }

  // A contribution that is the content of another buffer.
  void borrow(ValueId value, BufferId from) {
    GradientState& state = gradients_[value];
    if (state.kind == GradientState::None) {
      state = {GradientState::Borrowed, from};
      return;
    }
    if (state.kind == GradientState::Borrowed) {
      draft_.add_copy(state.buffer, destination(value), layers_.bytes(value));
      state = {GradientState::Owned, destination(value)};
    }
    draft_.add_sum(value, state.buffer, from);
  }

  // A contribution that a kernel computes: straight into its place if it is the value's first.
  void backward_input(int l, Draft draft) {
    draft.step.kind = Step::Kind::BackwardInput;
    struct Sum {
      ValueId value;
      BufferId into, from;
    };
    std::vector<Sum> sums;
    for (const ValueId input : layers_[l].inputs) {
      draft.input_gradients.push_back(std::nullopt);
      if (!trained_[input]) continue;
      GradientState& state = gradients_[input];
      if (state.kind == GradientState::Owned) {
        const BufferId part = draft_.new_buffer(Area::Workspace, layers_.bytes(input));
        draft.input_gradients.back() = part;
        sums.push_back({input, state.buffer, part});
        continue;
      }
      draft.input_gradients.back() = destination(input);
      if (state.kind == GradientState::Borrowed)
        sums.push_back({input, destination(input), state.buffer});
      state = {GradientState::Owned, destination(input)};
    }
    if (wants_input_gradient(l)) draft_.add(std::move(draft));
    for (const Sum& sum : sums) draft_.add_sum(sum.value, sum.into, sum.from);
  }

  // After the layer's input gradient, which reads the weights: these may be updated on the way.
  void backward_weight(Draft draft) {
    draft.step.kind = Step::Kind::BackwardWeight;
    if (in_.split_backward) draft_.keep_in_slot(*draft.output_gradient);
    if (is_tail(draft.step.layer))
      tail_ = std::move(draft);
    else
      draft_.add(std::move(draft));
  }

  // The weight half that nothing in the stage waits for: that of its first trained layer.
  bool is_tail(int l) const {
    if (layers_.at_begin()) return false;
    for (int below = 0; below < l; ++below)
      if (layers_[below].trains()) return false;
    return true;
  }

  const RecipeInput& in_;
  const RecipeLayers layers_;
  const Indexed<bool, ValueId>& trained_;
  const ForwardRecipe& forward_;
  RecipeDraft& draft_;
  Indexed<GradientState, ValueId> gradients_;
  Indexed<std::optional<BufferId>, ValueId> destinations_;  // for gradients that get memory here
  Indexed<std::optional<Remade>> remade_;                   // of each layer
  std::optional<Draft> tail_;
  BackwardRecipe made_;
};

}  // namespace

BackwardRecipe write_backward(const RecipeInput& input, const Indexed<bool, ValueId>& trained,
                              const ForwardRecipe& forward, RecipeDraft& draft) {
  return BackwardWriter(input, trained, forward, draft).write();
}

}  // namespace pipetrain
