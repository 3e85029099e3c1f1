// Device failures, with the stage in which they occurred.
#pragma once

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"

namespace pipetrain {

// Makes something for a stage: a device's error, most often lack of memory, names the stage.
template <class Make>
auto of_stage(int stage, Make&& make) {
  try {
    return make();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("stage {}: {}", stage, error.what()));
  }
}

}  // namespace pipetrain
