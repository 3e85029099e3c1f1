// Figures of this machine that no layer has: how long a packet takes to another thread, and how
// fast one core reads and writes memory.
#pragma once

#include <vector>

#include "plan/profile.hpp"

namespace pipetrain {

// From one thread's send to the other one's return from receive, half of a round trip, between two
// threads that wait for each other as stages do. Some milliseconds of measuring.
TransportTimes measure_handover();

// The same where one thread runs both stages; with what both do besides computing.
TransportTimes measure_inline_handover();

// Bytes read and written per second by one thread, ascending by how many it goes through: from what
// a cache holds to more than any does.
std::vector<MemoryRate> measure_memory_rates();

}  // namespace pipetrain
