#include "graph/traits.hpp"

#include "base/check.hpp"
#include "graph/layer.hpp"

namespace pipetrain {

LayerTraits traits_of(const LayerSpec& spec) {
  return std::visit(
      []<class Kind>(const Kind& kind) {
        using T = Traits<Kind>;
        return LayerTraits{.inputs = T::inputs,
                           .reads = T::reads,
                           .is_view = T::is_view,
                           .counts_minibatches = T::counts_minibatches,
                           .has_rows_by_position = T::has_rows_by_position,
                           .carries_state = T::carries_state(kind),
                           .padding = T::padding(kind)};
      },
      spec);
}

Reach reach_of(const Layer& layer, int input) {
  const InputPlace at{.index = input, .count = static_cast<int>(layer.inputs.size())};
  PIPETRAIN_CHECK(input >= 0 && input < at.count, "input {} of '{}', which has {}", input,
                  layer.name, at.count);
  return std::visit([&]<class Kind>(const Kind& kind) { return Traits<Kind>::reach(kind, at); },
                    layer.spec);
}

bool reads_ahead(const Layer& layer) {
  for (int i = 0; i < std::ssize(layer.inputs); ++i)
    if (reach_of(layer, i) == Reach::All) return true;
  return false;
}

}  // namespace pipetrain
