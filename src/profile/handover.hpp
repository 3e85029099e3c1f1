// How long a packet takes from one stage to the next on this machine.
#pragma once

#include "plan/profile.hpp"

namespace pipetrain {

// From one thread's send to the other's return from receive: half of a round trip between two
// threads that wait for each other as stages do. Measuring takes some milliseconds.
TransportTimes measure_handover();

// The same if one thread runs both stages; includes what both do besides computing.
TransportTimes measure_inline_handover();

}  // namespace pipetrain
