#include "compile/forward_recipe.hpp"

#include <utility>

#include "base/check.hpp"
#include "compile/value_uses.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

class ForwardWriter {
 public:
  ForwardWriter(const RecipeInput& input, const Indexed<bool, ValueId>& trained, RecipeDraft& draft)
      : in_(input), layers_(input), uses_(input, trained, made_.out), draft_(draft) {
    made_.storage.resize(input.graph.layers.size() + 1);
    made_.maker.assign(made_.storage.size(), -1);
  }

  ForwardRecipe write() {
    if (layers_.at_begin())
      enter_graph();
    else
      enter_stage();
    if (!layers_.at_end())
      made_.out = activation_packet(in_.graph, in_.lowering, {in_.last.value + 1}, in_.samples);
    made_.remade = remade_layers(in_, uses_);
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
    made_.maker[layers_.output_of(l)] =
        traits.aliases_input ? made_.maker[layers_[l].inputs[0]] : l;
    Draft draft;
    draft.step.kind = Step::Kind::Forward;
    draft.step.layer = l;
    for (const ValueId input : layers_[l].inputs) draft.inputs.push_back(made_.storage_of(input));
    draft.output = made_.storage_of(layers_.output_of(l));
    made_.saved.push_back(std::nullopt);
    if (traits.saved_bytes > 0)
      made_.saved.back() =
          draft_.new_buffer(remade(l) ? Area::Workspace : kept(), traits.saved_bytes);
    draft.saved = made_.saved.back();
    if (!traits.aliases_input) draft_.add(std::move(draft));
  }

  // Chooses the place of the value that layer l makes, for it and for everything that aliases it.
  BufferId make_storage(int l) {
    const ValueId value = layers_.output_of(l);
    const std::size_t bytes = layers_.bytes(value);
    if (const auto offset = uses_.leaves_at(value))
      return draft_.new_buffer(Area::PacketOut, bytes, *offset);
    const bool stays = uses_.read_by_backward(value) && !remade(l);
    return draft_.new_buffer(stays ? kept() : Area::Workspace, bytes);
  }

  bool remade(int l) const { return made_.remade[static_cast<std::size_t>(l)]; }

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
  ForwardRecipe made_;
  const ValueUses uses_;
  RecipeDraft& draft_;
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
