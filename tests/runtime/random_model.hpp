// Small random models as TOML: fan-outs, skip connections, second names of one value (identity),
// readers of the input, every layer read.
#pragma once

#include <cstdint>
#include <string>

namespace pipetrain::testing {

struct RandomModelOptions {
  int layers = 8;          // of images, before the head
  bool batch_norm = true;  // its running statistics depend on micro-batches
};

std::string random_model(std::uint64_t seed, const RandomModelOptions& options = {});

}  // namespace pipetrain::testing
