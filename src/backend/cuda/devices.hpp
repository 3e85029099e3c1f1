// The devices that this machine has, and those that a config names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pipetrain::cuda {

// "cuda:1" -> 1. UsageError, which says what to write, for anything else.
int device_index(const std::string& name);

// How many devices this machine has; DeviceError, with what to do, if there is no driver, an
// outdated one, or no device at all.
int count_devices();

// The indices of the named devices, or of the first device if no names are given. DeviceError for a
// device that does not exist or is too old for this build, and for libraries that are too old. A
// device may be named more than once: workers then share it.
std::vector<int> find_devices(std::span<const std::string> names);

// Lets the devices access each other's memory where the hardware can; elsewhere copies go through
// the host.
void connect(const std::vector<int>& devices);

}  // namespace pipetrain::cuda
