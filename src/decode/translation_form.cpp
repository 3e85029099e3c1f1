#include "decode/translation_form.hpp"

#include <algorithm>

#include "base/cache_line.hpp"
#include "compile/workspace.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

Kernels make_kernels(const TranslationCompileInput& in, const Lowering& lowering, auto&& wanted) {
  Kernels kernels(in.needs.size());
  for (std::size_t l = side_layers; l < kernels.size(); ++l)
    if (wanted(in.needs[l]))
      kernels[l] =
          lowering.make_kernel({static_cast<int>(l)}, {.samples = in.rows, .mode = Mode::Evaluate});
  return kernels;
}

// Places values in memory by when they are used: steps 0 .. L - 1 compute the layers that need only
// the source, L .. 2 L - 1 those of one position, and 2 L is the next position, which reads of the
// source what this one did.
class Places {
 public:
  Places(const TranslationCompileInput& in, const Graph& graph, TranslationForm& form)
      : in_(in), graph_(graph), form_(form), layers_(static_cast<int>(graph.layers.size())) {}

  void place() {
    for (int v = 0; v <= layers_; ++v) blocks_.push_back(block({v}));
    for (int v = 1; v <= layers_; ++v) extend({v});
    form_.bytes = place_workspace(blocks_, 0);
    for (int v = 0; v <= layers_; ++v) form_.offsets.push_back(blocks_[root({v}).value].offset);
  }

 private:
  bool of_target(int layer) const { return in_.needs[layer] != Needs::Source; }
  int step_of(int layer) const { return of_target(layer) ? layers_ + layer : layer; }

  // The value whose memory this one shares.
  ValueId root(ValueId value) const {
    while (value.value > 0) {
      const auto layer = static_cast<std::size_t>(value.value - 1);
      const auto& kernel = form_.kernels[layer];
      if (!kernel || !kernel->traits().aliases_input) break;
      value = graph_.layers[layer].inputs[0];
    }
    return value;
  }

  // The graph's input is not read: its two sides are written as separate values.
  Block block(ValueId value) const {
    if (value.value == 0 || root(value) != value) return {};
    Block block;
    block.bytes = whole_lines(form_.lowering->value_bytes(value, in_.rows));
    block.first_use = block.last_use = step_of(value.value - 1);
    return block;
  }

  void extend(ValueId value) {
    Block& block = blocks_[root(value)];
    if (value.value == layers_) block.last_use = 2 * layers_;
    for (const LayerId reader : graph_.consumers(value)) {
      const bool stays = of_target(reader.value) && !of_target(value.value - 1);
      block.last_use = std::max(block.last_use, stays ? 2 * layers_ : step_of(reader.value));
    }
  }

  const TranslationCompileInput& in_;
  const Graph& graph_;
  TranslationForm& form_;
  const int layers_;
  Indexed<Block, ValueId> blocks_;  // per value
};

}  // namespace

TranslationForm make_translation_form(const TranslationCompileInput& in, std::int64_t source) {
  const Lengths lengths{source, 1};
  TranslationForm form;
  form.lowering = &in.model.lowering(lengths);
  form.kernels =
      make_kernels(in, *form.lowering, [](Needs needs) { return needs != Needs::Prefix; });
  Places(in, in.model.graph(lengths), form).place();
  return form;
}

Kernels make_prefix_kernels(const TranslationCompileInput& in, const Lengths& lengths) {
  return make_kernels(in, in.model.lowering(lengths),
                      [](Needs needs) { return needs == Needs::Prefix; });
}

KernelBytes largest(const Kernels& kernels) {
  KernelBytes most;
  for (const auto& kernel : kernels)
    if (kernel)
      most = {std::max(most.scratch, kernel->traits().scratch_bytes),
              std::max(most.saved, kernel->traits().saved_bytes)};
  return most;
}

}  // namespace pipetrain
