// Whether a layer can use another layer's weight.
#pragma once

#include <optional>
#include <string>

#include "graph/layer.hpp"

namespace pipetrain {

// The layer whose weight this one uses, as written in the file; "": it has its own. None: a layer
// of this kind shares no weight.
std::optional<std::string> tied_of(const LayerSpec& spec);

// What is wrong if the weight of `layer` is to be that of `owner`, and what to write instead:
// "which has a weight of [11, 6]; its own weight is [10, 6]: write out_features = 11, or ...".
// Empty if nothing is.
std::string tie_misfit(const Layer& layer, const Layer& owner);

}  // namespace pipetrain
