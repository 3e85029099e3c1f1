// How much a program holds at once, derived from its lists alone: what the stores are sized by.
#pragma once

#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// Per stage, over its copies the largest.
// Micro-batches from their forward to the end of the last half of their backward.
std::vector<int> peak_activations(const Program& program);
// The same from their input on: loaded, received, or where nothing says so, with the forward.
std::vector<int> peak_inputs(const Program& program);
// Micro-batches whose activations are there at once: the same, but where a program recomputes, from
// the recomputation on, and one more while a forward runs.
std::vector<int> peak_slots(const Program& program);
// Micro-batches from their forward to the update that they are for.
std::vector<int> peak_until_update(const Program& program);
// Versions that are the newest or that a later instruction reads. An update whose old version
// nobody reads any more happens in place and counts one.
std::vector<int> peak_weight_versions(const Program& program);

// Per worker. Micro-batches (times stages where it holds several) from their forward to the input
// half of their backward: what papers call in flight.
std::vector<int> peak_in_flight(const Program& program);
// Of the worker's stages the one with most.
std::vector<int> peak_weight_versions_of_workers(const Program& program);

}  // namespace pipetrain
