// What a cut costs apart from handing over its packets: a packet's layout, which a kernel on either
// side may have to write or read, and what is no longer fused because its parts are in two stages.
#pragma once

#include <array>
#include <vector>

#include "plan/profile.hpp"

namespace pipetrain {

// The first layers of the stages when a model is cut after every second layer, starting from layer
// `from` (0 or 1).
std::vector<int> every_second_cut(int layers, int from);

// Sets `cut_forward_ms` and `cut_backward_ms` of the layers of `uncut`, from the times of both ways
// to cut after every second layer: how much longer a layer and the next one take there.
void set_cut_times(std::vector<LayerTimes>& uncut,
                   const std::array<std::vector<LayerTimes>, 2>& cut);

}  // namespace pipetrain
