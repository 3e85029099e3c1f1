#include "graph/tied.hpp"

#include <spdlog/fmt/fmt.h>

namespace pipetrain {
namespace {

// "write out_features = 11, or " if a key of the layer alone makes its weight `wanted`, else "".
std::string key_to_write(const Layer& layer, const Shape& wanted) {
  const Shape& own = layer.parameters[0].shape;
  const bool same_rows = own.dims[0] == wanted.dims[0],
             same_columns = own.dims[1] == wanted.dims[1];
  if (std::holds_alternative<Linear>(layer.spec) && same_columns)
    return fmt::format("write out_features = {}, or ", wanted.dims[0]);
  if (std::holds_alternative<Embedding>(layer.spec) && same_rows)
    return fmt::format("write embedding_dim = {}, or ", wanted.dims[1]);
  return "";
}

}  // namespace

std::optional<std::string> tied_of(const LayerSpec& spec) {
  return std::visit(
      [](const auto& kind) -> std::optional<std::string> {
        if constexpr (requires { kind.tied; }) return kind.tied;
        return std::nullopt;
      },
      spec);
}

std::string tie_misfit(const Layer& layer, const Layer& owner) {
  const std::string own = layer.parameters[0].shape.text();
  if (!tied_of(owner.spec))
    return fmt::format(
        "which is a {} layer; its own weight is {}: name a linear or embedding layer whose weight "
        "has that shape",
        kind_name(owner.spec), own);
  const Shape& wanted = owner.parameters[0].shape;
  if (wanted == layer.parameters[0].shape) return "";
  return fmt::format(
      "which has a weight of {}; its own weight is {}: {}name a linear or embedding layer whose "
      "weight has that shape",
      wanted.text(), own, key_to_write(layer, wanted));
}

}  // namespace pipetrain
