// The rules of schedules speak of a config's keys. The verb `schedule` has options instead.
#pragma once

#include <string>

namespace pipetrain {

// "write --microbatches 3, or --stages 3" for "write microbatches = 3, or stages = 3".
std::string rules_as_options(const std::string& message);

}  // namespace pipetrain
