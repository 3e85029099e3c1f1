// The table of layer kinds: what a model file may contain, and what `pipetrain layers` prints.
#pragma once

#include <span>
#include <string_view>

#include "graph/layer_spec.hpp"

namespace pipetrain {

namespace model_file {
class Fields;
}

struct LayerKind {
  std::string_view name;  // in TOML: "conv2d"
  std::string_view keys;  // as a user would write them, with defaults
  std::string_view summary;
  LayerSpec (*read)(model_file::Fields&);  // takes its keys from a layer's table
};

// In the order of LayerSpec's alternatives.
std::span<const LayerKind> layer_kinds();

}  // namespace pipetrain
