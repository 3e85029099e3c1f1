// What a cut costs besides the packets that go over it: a packet's layout, which a kernel on either
// side may have to make or read, and what is no longer fused because its parts are in two stages.
#pragma once

#include <array>
#include <vector>

#include "plan/profile.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

// Of a model: the first layers of stages when it is cut after every second layer, from layer
// `from` (0 or 1) on.
std::vector<int> every_second_cut(int layers, int from);

// Sets `cut_forward_ms` and `cut_backward_ms` of the layers of `uncut`, from the times of both ways
// to cut after every second layer: what a layer and the next one take longer there.
void set_cut_times(std::vector<LayerTimes>& uncut,
                   const std::array<std::vector<LayerTimes>, 2>& cut);

// The same by measuring both ways with nobody beside, for at least `seconds` each. UsageError,
// DeviceError, DataError as training.
void measure_cut_times(const WatchedModel& model, double seconds, ProfilePoint& uncut);

}  // namespace pipetrain
