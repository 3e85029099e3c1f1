// When mini-batches turn: what stage 0 has as a micro-batch's backward begins on the last stage
// (ReadContext::at_turn), by the clock of slots that bind.hpp describes.
#pragma once

#include <vector>

#include "program/compact_order.hpp"

namespace pipetrain {

// Per micro-batch. Of an order that holds every stage once.
std::vector<Version> turns_of(const CompactOrder& order);

}  // namespace pipetrain
