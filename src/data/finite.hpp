// Which samples hold a NaN or an infinity: only needed when a training has diverged.
#pragma once

#include <span>
#include <vector>

#include "base/ids.hpp"
#include "data/dataset.hpp"

namespace pipetrain {

// Those of `samples` whose input or float target is not finite, in the given order.
std::vector<SampleId> nonfinite_samples(const Dataset& dataset, std::span<const SampleId> samples);

}  // namespace pipetrain
