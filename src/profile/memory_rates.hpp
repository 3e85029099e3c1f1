// How fast a worker goes through memory.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "plan/profile.hpp"

namespace pipetrain {

// Bytes read and written per second by one thread, ascending by how many it goes through: from what
// a cache holds to more than any cache does. Measured with the backend's sum of two arrays, which
// replaces both. Throws a DeviceError if there is not enough memory.
std::vector<MemoryRate> measure_memory_rates(Backend& backend);

// The faster one for each number of bytes, of two measurements with the same numbers: what else the
// machine does only makes them slower.
void keep_faster(std::vector<MemoryRate>& kept, const std::vector<MemoryRate>& measured);

}  // namespace pipetrain
