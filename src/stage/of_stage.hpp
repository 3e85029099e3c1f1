// Failures of devices, with the stage that they befell.
#pragma once

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"

namespace pipetrain {

// What is made for a stage: an error of a device, most often for lack of memory, names the stage.
template <class Make>
auto of_stage(int stage, Make&& make) {
  try {
    return make();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("stage {}: {}", stage, error.what()));
  }
}

}  // namespace pipetrain
