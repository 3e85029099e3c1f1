#include "compile/forward_recipe.hpp"

#include <utility>

#include "base/check.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

class ForwardWriter {
 public:
  ForwardWriter(const RecipeInput& input, const Indexed<bool, ValueId>& trained, RecipeDraft& draft)
      : in_(input), layers_(input), trained_(trained), draft_(draft) {
    made_.storage.resize(input.graph.layers.size() + 1);
  }

  ForwardRecipe write() {
    if (layers_.at_begin())
      enter_graph();
    else
      enter_stage();
    if (!layers_.at_end())
      made_.out = activation_packet(in_.graph, in_.lowering, {in_.last.value + 1}, in_.samples);
    for (int l = 0; l < layers_.count(); ++l) call(l);
    leave();
    if (layers_.at_end()) {
      made_.output = made_.storage_of(in_.graph.output_of(in_.last));
      draft_.use_behind(*made_.output);  // by the loss
    }
    made_.pass = draft_.end_pass();
    return std::move(made_);
  }

 private:
  bool trains() const { return in_.mode == Mode::Train; }
  Area kept() const { return trains() ? Area::Slot : Area::Workspace; }

  void enter_graph() {
    auto& storage = made_.storage[ValueId{0}];
    if (in_.lowering.reads_plain_input()) {
      storage = draft_.new_buffer(Area::Input, layers_.bytes({0}));
      return;
    }
    // In training, loaded into the slot where a backward reads it.
    const Area area = trains() && in_.recomputes ? Area::InputSlot : kept();
    made_.input = draft_.new_buffer(area, layers_.bytes({0}));
    draft_.use_before(*made_.input);
    storage = made_.input;
  }

  void enter_stage() {
    const PacketLayout packet = activation_packet(in_.graph, in_.lowering, in_.first, in_.samples);
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      made_.storage[packet.values[i]] =
          draft_.new_buffer(Area::PacketIn, layers_.bytes(packet.values[i]), packet.offsets[i]);
  }

  void call(int l) {
    const KernelTraits& traits = layers_.traits(l);
    made_.storage[layers_.output_of(l)] =
        traits.aliases_input ? made_.storage_of(layers_[l].inputs[0]) : make_storage(l);
    Draft draft;
    draft.step.kind = Step::Kind::Forward;
    draft.step.layer = l;
    for (const ValueId input : layers_[l].inputs) draft.inputs.push_back(made_.storage_of(input));
    draft.output = made_.storage_of(layers_.output_of(l));
    made_.saved.push_back(std::nullopt);
    if (traits.saved_bytes > 0) made_.saved.back() = draft_.new_buffer(kept(), traits.saved_bytes);
    draft.saved = made_.saved.back();
    if (!traits.aliases_input) draft_.add(std::move(draft));
  }

  // Chooses the place of the value that layer l makes, for it and for everything that aliases it.
  BufferId make_storage(int l) {
    bool read_by_backward = false;
    std::optional<std::size_t> leaving;
    for (int alias = l; alias < layers_.count(); ++alias) {
      const ValueId value = layers_.output_of(alias);
      if (root(value) != root(layers_.output_of(l))) continue;
      read_by_backward = read_by_backward || backward_reads(value);
      if (!leaving) leaving = leaving_at(value);
    }
    const std::size_t bytes = layers_.bytes(layers_.output_of(l));
    if (leaving) return draft_.new_buffer(Area::PacketOut, bytes, *leaving);
    return draft_.new_buffer(read_by_backward ? kept() : Area::Workspace, bytes);
  }

  std::optional<std::size_t> leaving_at(ValueId value) const {
    for (std::size_t i = 0; i < made_.out.values.size(); ++i)
      if (made_.out.values[i] == value) return made_.out.offsets[i];
    return std::nullopt;
  }

  ValueId root(ValueId value) const {
    while (value.value > in_.first.value) {
      const int l = value.value - 1 - in_.first.value;
      if (!layers_.traits(l).aliases_input) break;
      value = layers_[l].inputs[0];
    }
    return value;
  }

  bool backward_reads(ValueId value) const {
    if (layers_.at_end() && value == in_.graph.output_of(in_.last)) return true;  // the loss's
    for (int l = 0; l < layers_.count(); ++l) {
      if (!trained_[layers_.output_of(l)]) continue;
      const KernelTraits& t = layers_.traits(l);
      if (layers_.output_of(l) == value && t.backward_input_reads_output) return true;
      const bool reads =
          t.backward_input_reads_inputs || (t.backward_weight_reads_inputs && layers_[l].trains());
      for (const ValueId input : layers_[l].inputs)
        if (input == value && reads) return true;
    }
    return false;
  }

  // Values that leave but are elsewhere (passed through, or a second name of one that leaves) are
  // copied.
  void leave() {
    const PacketLayout& out = made_.out;
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      const BufferId from = made_.storage_of(out.values[i]);
      const Block& buffer = draft_.buffer(from);
      if (buffer.area == Area::PacketOut && buffer.offset == out.offsets[i]) continue;
      const std::size_t bytes = layers_.bytes(out.values[i]);
      draft_.add_copy(from, draft_.new_buffer(Area::PacketOut, bytes, out.offsets[i]), bytes);
    }
  }

  const RecipeInput& in_;
  const RecipeLayers layers_;
  const Indexed<bool, ValueId>& trained_;
  RecipeDraft& draft_;
  ForwardRecipe made_;
};

}  // namespace

BufferId ForwardRecipe::storage_of(ValueId value) const {
  PIPETRAIN_CHECK(storage[value], "value {} is read before it is made or received", value.value);
  return *storage[value];
}

ForwardRecipe write_forward(const RecipeInput& input, const Indexed<bool, ValueId>& trained,
                            RecipeDraft& draft) {
  return ForwardWriter(input, trained, draft).write();
}

}  // namespace pipetrain
