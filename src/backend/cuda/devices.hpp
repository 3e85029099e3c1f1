// The devices that this machine has and that a config names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pipetrain::cuda {

// "cuda:1" -> 1. UsageError for anything else, which says what to write.
int device_index(const std::string& name);

// What this machine has; DeviceError, with what to do, where there is no driver, an old one, or no
// device at all.
int count_devices();

// Of the names, or of the first device where none are named. DeviceError for a device that is not
// there or too old for this build, and for libraries that are too old. The same device may be named
// more than once: workers share it.
std::vector<int> find_devices(std::span<const std::string> names);

// Lets each of the devices reach the others' memory, where the hardware can; elsewhere copies go
// through the host.
void connect(const std::vector<int>& devices);

}  // namespace pipetrain::cuda
