// Failures of devices, with the stage that they befell.
#pragma once

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"

namespace pipetrain {

// What is made for a stage: a device that fails, most often for want of memory, says at which one.
template <class Make>
auto of_stage(int stage, Make&& make) {
  try {
    return make();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("stage {}: {}", stage, error.what()));
  }
}

}  // namespace pipetrain
