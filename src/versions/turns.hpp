// When mini-batches turn: the version of stage 0 when a micro-batch's backward begins on the last
// stage (ReadContext::at_turn), on the clock of slots that bind.hpp describes.
#pragma once

#include <vector>

#include "program/compact_order.hpp"

namespace pipetrain {

// Per micro-batch. For an order that holds every stage once.
std::vector<Version> turns_of(const CompactOrder& order);

}  // namespace pipetrain
