// Figures of this machine that belong to no layer: how long a packet takes to another thread, and
// how fast one core reads and writes memory.
#pragma once

#include <vector>

#include "plan/profile.hpp"

namespace pipetrain {

// From one thread's send to the other's return from receive: half of a round trip between two
// threads that wait for each other as stages do. Measuring takes some milliseconds.
TransportTimes measure_handover();

// The same if one thread runs both stages; includes what both do besides computing.
TransportTimes measure_inline_handover();

// Bytes read and written per second by one thread, ascending by how many it goes through: from what
// a cache holds to more than any cache does.
std::vector<MemoryRate> measure_memory_rates();

}  // namespace pipetrain
